import type { Codec } from "./codec.js"
import { SkeinError, errorOfClose } from "./errors.js"
import type { WebSocketConstructor, WebSocketLike } from "./options.js"
import type { ClientFrame, ServerFrame } from "./wire.js"

/** One WebSocket: frames out, frames in, and one end. After close() nothing is told any more. */
export class Socket {
  private readonly ws: WebSocketLike
  private live = true
  private why: unknown

  constructor(
    make: WebSocketConstructor | undefined,
    url: string,
    private readonly codec: Codec,
    private readonly on: { open: () => void; frame: (f: ServerFrame) => void; end: (e: SkeinError | undefined) => void },
  ) {
    const constructor = make ?? (globalThis as { WebSocket?: WebSocketConstructor }).WebSocket
    if (constructor === undefined) throw new SkeinError({ code: "invalid_argument", message: "there is no WebSocket here: give one in the options (npm package ws)" })
    this.ws = new constructor(url, [codec.protocol])
    this.ws.binaryType = "arraybuffer"
    this.ws.onopen = () => this.live && this.on.open()
    this.ws.onmessage = (e: { data: unknown }) => this.take(e.data)
    this.ws.onerror = (e: unknown) => (this.why = e) // the close follows
    this.ws.onclose = (e: { code: number; reason?: string }) => this.finish(errorOfClose(e.code, e.reason ?? "") ?? this.broken())
  }

  /** Why there is no connection, as far as the platform tells: browsers do not. */
  private broken(): SkeinError {
    const { message, error } = (this.why ?? {}) as { message?: unknown; error?: unknown }
    const told = typeof message === "string" && message !== "" ? `: ${message}` : ""
    return new SkeinError({ code: "offline", message: `the connection ended${told}`, cause: error ?? this.why })
  }

  private take(data: unknown): void {
    if (!this.live) return
    let f: ServerFrame
    try {
      f = this.codec.decode(data)
    } catch (e) {
      this.finish(new SkeinError({ code: "protocol_error", message: `the server sent what is no frame: ${String(e)}`, cause: e }))
      this.ws.close()
      return
    }
    this.on.frame(f)
  }

  private finish(e: SkeinError | undefined): void {
    if (!this.live) return
    this.live = false
    this.on.end(e)
  }

  send(f: ClientFrame): void {
    if (this.live && this.ws.readyState === 1) this.ws.send(this.codec.encode(f))
  }

  /** Ends it without another word; what was sent is still written. */
  close(): void {
    this.live = false
    this.ws.close()
  }
}
