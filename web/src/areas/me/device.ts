/** "Chrome on Linux", from what a browser says of itself; what is no browser says its name first. */
const BROWSERS: [RegExp, string][] = [
  [/\bEdg(?:e|A|iOS)?\//, "Edge"],
  [/\bOPR\/|\bOpera\b/, "Opera"],
  [/\bFirefox\/|\bFxiOS\//, "Firefox"],
  [/\b(?:Headless)?Chrome\/|\bCriOS\//, "Chrome"],
  [/\bSafari\//, "Safari"],
];
const SYSTEMS: [RegExp, string][] = [
  [/\biPhone\b/, "iPhone"],
  [/\biPad\b/, "iPad"],
  [/\bAndroid\b/, "Android"],
  [/\bWindows\b/, "Windows"],
  [/\bMac OS X\b|\bMacintosh\b/, "macOS"],
  [/\bCrOS\b/, "ChromeOS"],
  [/\bLinux\b/, "Linux"],
];

const first = (agent: string, known: [RegExp, string][]) => known.find(([pattern]) => pattern.test(agent))?.[1];

export function device(agent: string): string {
  const browser = first(agent, BROWSERS);
  const system = first(agent, SYSTEMS);
  if (browser) return system ? `${browser} on ${system}` : browser;
  const program = /^[^\s/();]{1,40}/.exec(agent.trim())?.[0];
  return program ?? "An unknown program";
}
