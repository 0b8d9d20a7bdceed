/** Server-Sent Events from bytes, however they are cut (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
export interface Frame {
  event: string;
  data: string;
  /** The id that stands since this frame or an earlier one. */
  id: string;
}

export class SseParser {
  #decoder = new TextDecoder();
  #rest = "";
  #event = "";
  #data: string[] = [];
  #id = "";

  /** The frames that are complete with these bytes. Comments are no frames; that bytes came says enough. */
  push(bytes: Uint8Array): Frame[] {
    const text = this.#rest + this.#decoder.decode(bytes, { stream: true });
    // A carriage return at the very end may be half of a line's end: it waits for what follows.
    const whole = text.endsWith("\r") ? text.length - 1 : text.length;
    const lines = text.slice(0, whole).split(/\r\n|\r|\n/);
    this.#rest = (lines.pop() ?? "") + text.slice(whole);
    const frames: Frame[] = [];
    for (const line of lines) this.#line(line, frames);
    return frames;
  }

  #line(line: string, frames: Frame[]): void {
    if (line === "") {
      if (this.#data.length) frames.push({ event: this.#event || "message", data: this.#data.join("\n"), id: this.#id });
      this.#event = "";
      this.#data = [];
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    if (name === "event") this.#event = value;
    else if (name === "data") this.#data.push(value);
    else if (name === "id" && !value.includes("\0")) this.#id = value;
  }
}
