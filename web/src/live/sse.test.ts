import { describe, expect, it } from "vitest";

import { type Frame, SseParser } from "./sse";

const RECORDED =
  ': hello\n\nid: 30705\nevent: task.completed\ndata: {"id":30705,"step_name":"größer ✓"}\n\n: still here\n\n' +
  'id: 30706\r\nevent: log\r\ndata: {"id":30706}\r\n\r\nevent: end\ndata: {"reason":"the server shuts down"}\n\n';
const bytes = new TextEncoder().encode(RECORDED);

const FRAMES: Frame[] = [
  { event: "task.completed", data: '{"id":30705,"step_name":"größer ✓"}', id: "30705" },
  { event: "log", data: '{"id":30706}', id: "30706" },
  { event: "end", data: '{"reason":"the server shuts down"}', id: "30706" },
];

describe("a recorded stream", () => {
  it("gives the same frames wherever its bytes are cut", () => {
    for (let cut = 0; cut <= bytes.length; cut++) {
      const parser = new SseParser();
      expect([...parser.push(bytes.slice(0, cut)), ...parser.push(bytes.slice(cut))]).toEqual(FRAMES);
    }
  });

  it("gives the same frames byte by byte", () => {
    const parser = new SseParser();
    expect([...bytes].flatMap((one) => parser.push(Uint8Array.of(one)))).toEqual(FRAMES);
  });

  it("joins lines of data, and forgets what was never finished", () => {
    const parser = new SseParser();
    expect(parser.push(new TextEncoder().encode("data: a\ndata:b\ndata\n\ndata: half"))).toEqual([{ event: "message", data: "a\nb\n", id: "" }]);
  });
});
