import { SkeinError, errorOf, invalid } from "./errors.js"
import { toBase64 } from "./ids.js"
import type { TokenSource } from "./options.js"
import type { WireError } from "./wire.js"

/*
 * Uploads (SPEC §13.2, tus 1.0.0): a request for each part, and after whatever went wrong the server is
 * asked how far it is. What a part is answered with is durable; only that is progress.
 */

/** Parts grow while they are quick, and get smaller when one fails. */
const firstPart = 256 << 10
const leastPart = 64 << 10
const mostPart = 8 << 20
const quick = 2000
/** How long a part may take, and the last one, at whose end the server looks at the content. */
const partTime = 60_000
const lastTime = 300_000
/** How often the token may be refused, or the upload be gone, before that is the answer. */
const mostRefused = 2

export interface UploadOptions {
  /** ws://host/ws or wss://host/ws, as the client has it. */
  url: string
  getToken: TokenSource
  name?: string
  durationMs?: number
  width?: number
  height?: number
  /** Loudnesses of 0 to 100, at most 100 of them. */
  waveform?: Uint8Array
  /** Goes on with an earlier upload of the same content; begins anew if the server has it no more. */
  id?: string
  /** So many of all bytes are safe with the server. */
  onProgress?: (sent: number, size: number) => void
  fetch?: typeof fetch
}

/** An upload under way. It begins at once, and goes on until it is complete, refused for good, or aborted. */
export class Upload {
  /** The upload's name, "" before the server gave it one: a message names it in `media`. */
  id: string
  /** What is safe with the server. */
  sent = 0
  readonly size: number
  /** Resolves with the id once it is complete; rejects with a SkeinError. */
  readonly done: Promise<string>
  private readonly base: string
  private part = firstPart
  /** How far the server is has to be asked. */
  private unsure: boolean
  private paused = false
  private over = false
  private failures = 0
  private gone = 0
  private token: string | undefined
  private rejected = ""
  private rejections = 0
  private running: AbortController | undefined
  private wake: () => void = () => undefined

  constructor(private readonly body: Blob, private readonly o: UploadOptions) {
    const url = new URL(o.url)
    if (url.protocol !== "ws:" && url.protocol !== "wss:") throw invalid(`${o.url}: want ws: or wss:`)
    if (body.size < 1) throw invalid("there is nothing to upload")
    this.base = `${url.protocol.replace("ws", "http")}//${url.host}${url.pathname.replace(/\/$/, "").replace(/\/ws$/, "")}`
    this.size = body.size
    this.id = o.id ?? ""
    this.unsure = this.id !== ""
    this.done = this.run()
    this.done.catch(() => undefined)
  }

  /** Nothing is sent until resume. */
  pause(): void {
    this.paused = true
    this.running?.abort()
  }

  /** Goes on; also at once where it waits after a failure: the network is back. */
  resume(): void {
    this.paused = false
    this.wake()
  }

  /** Ends it. The server throws away what it has within a day; until then another Upload may go on with its id. */
  abort(): void {
    this.over = true
    this.running?.abort()
    this.wake()
  }

  private async run(): Promise<string> {
    for (;;) {
      if (this.over) throw new SkeinError({ code: "closed", message: "the upload was aborted" })
      if (this.paused) {
        await this.sleep(0)
        continue
      }
      try {
        if (this.id === "") await this.create()
        else if (this.unsure) await this.ask()
        if (this.sent === this.size) return this.id
        await this.next()
      } catch (e) {
        await this.failed(e)
      }
    }
  }

  /** Decides how to go on after an error: it throws, waits, or lets the next try be at once. */
  private async failed(e: unknown): Promise<void> {
    this.unsure = this.id !== ""
    if (this.over || this.paused) return
    const known = e instanceof SkeinError ? e : undefined
    if (known?.code === "not_found" && this.id !== "" && ++this.gone < mostRefused) {
      this.id = ""
      this.unsure = false
      this.progress(0)
      return
    }
    if (known?.action === "login" || known?.code === "unauthenticated") {
      if (++this.rejections > mostRefused) throw known
      this.rejected = this.token ?? ""
      this.token = undefined
      return
    }
    if (known !== undefined && (known.action === "stop" || known.action === "fix")) throw known
    this.part = Math.max(leastPart, this.part >> 1)
    await this.sleep(Math.max(known?.retryAfterMs ?? 0, Math.random() * Math.min(20_000, 500 * 2 ** this.failures++)))
  }

  /** For so long (0: for ever), or until resume or abort. */
  private async sleep(ms: number): Promise<void> {
    await new Promise<void>((done) => {
      const timer = ms > 0 ? setTimeout(done, ms) : undefined
      this.wake = () => {
        clearTimeout(timer)
        done()
      }
    })
  }

  private progress(sent: number): void {
    if (sent === this.sent) return
    this.sent = sent
    this.o.onProgress?.(sent, this.size)
  }

  private async create(): Promise<void> {
    const { name, durationMs, width, height, waveform } = this.o
    const text = (v: string | number | undefined): string | undefined => (v === undefined ? undefined : toBase64(new TextEncoder().encode(String(v))))
    const told = { filename: text(name), duration_ms: text(durationMs), width: text(width), height: text(height), waveform: waveform === undefined ? undefined : toBase64(waveform) }
    const metadata = Object.entries(told).filter(([, v]) => v !== undefined).map(([key, v]) => `${key} ${v ?? ""}`).join(",")
    const r = await this.request("POST", "", { "upload-length": String(this.size), ...(metadata === "" ? {} : { "upload-metadata": metadata }) })
    const id = (r.headers.get("location") ?? "").split("/").pop() ?? ""
    if (id === "") throw new SkeinError({ code: "offline", message: "the server did not tell where the upload is" })
    this.id = id
    this.unsure = false
  }

  private async ask(): Promise<void> {
    const r = await this.request("HEAD", this.id, {}, undefined, lastTime)
    const length = r.headers.get("upload-length")
    if (length !== null && Number(length) !== this.size) throw invalid(`the upload ${this.id} is of ${length} bytes`)
    this.progress(offsetOf(r))
    this.unsure = false
  }

  private async next(): Promise<void> {
    const end = Math.min(this.size, this.sent + this.part)
    const began = Date.now()
    const headers = { "upload-offset": String(this.sent), "content-type": "application/offset+octet-stream" }
    const r = await this.request("PATCH", this.id, headers, this.body.slice(this.sent, end), end === this.size ? lastTime : partTime)
    this.failures = this.rejections = 0
    if (Date.now() - began < quick) this.part = Math.min(mostPart, this.part * 2)
    this.progress(offsetOf(r))
  }

  private async request(method: string, id: string, headers: Record<string, string>, body?: Blob, time = partTime): Promise<Response> {
    this.token ??= await this.o.getToken(this.rejected)
    if (this.over || this.paused) throw new SkeinError({ code: "offline" })
    const running = (this.running = new AbortController())
    const timer = setTimeout(() => running.abort(), time)
    try {
      const r = await (this.o.fetch ?? fetch)(`${this.base}/media/uploads${id === "" ? "" : `/${id}`}`, {
        method, body: body ?? null, signal: running.signal,
        headers: { ...headers, authorization: `Bearer ${this.token}`, "tus-resumable": "1.0.0" },
      })
      if (!r.ok) throw await refusal(r)
      return r
    } finally {
      clearTimeout(timer)
      this.running = undefined
    }
  }
}

function offsetOf(r: Response): number {
  const n = Number(r.headers.get("upload-offset") ?? NaN)
  if (!Number.isSafeInteger(n)) throw new SkeinError({ code: "offline", message: "the server did not tell how far it is" })
  return n
}

/** What an answer to HEAD, which has no body, says by its status. */
const byStatus: Record<number, string> = { 401: "unauthenticated", 403: "permission_denied", 404: "not_found", 413: "too_large", 429: "rate_limited" }

/** The error of an answer. Of a conflict of tus (409, 412, 460) nothing follows but to ask how far it is. */
async function refusal(r: Response): Promise<SkeinError> {
  const text = await r.text()
  if ([409, 412, 460].includes(r.status)) return new SkeinError({ code: "offline", message: `conflict ${r.status}` })
  let e: WireError | undefined
  try {
    const json = JSON.parse(text) as { error?: WireError } & WireError
    e = json.error ?? json
  } catch {
    // no answer of this server's: a proxy's, or to HEAD
  }
  if (typeof e?.code === "string") return errorOf(e)
  const code = byStatus[r.status]
  return code === undefined ? new SkeinError({ code: "offline", message: `status ${r.status}` }) : errorOf({ code })
}
