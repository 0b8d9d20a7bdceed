/** A download that needs the session's token: read as it comes, kept by the browser (on disk when it is large), then saved. */
import { asProblem, problemFrom } from "@/api/problem";
import { session } from "@/session/session";

export async function save(url: string, filename: string, onProgress: (bytes: number) => void, signal: AbortSignal): Promise<void> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${(await session.token()) ?? ""}` }, signal }).catch((error: unknown) => {
    throw asProblem(error);
  });
  if (!response.ok || !response.body) throw problemFrom(await response.json().catch(() => null), response);
  let bytes = 0;
  const counted = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, out) {
      bytes += chunk.byteLength;
      onProgress(bytes);
      out.enqueue(chunk);
    },
  });
  const blob = await new Response(response.body.pipeThrough(counted)).blob();
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = filename;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 * 1024 ? `${Math.round(bytes / 1024)} KB` : `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
