import { createServer, connect, type AddressInfo, type Socket } from "node:net"

/** A proxy that cuts a connection once so many bytes went through it, in both directions together; 0: never. */
export class Cutter {
  private readonly server = createServer((s) => this.pass(s))
  private readonly open = new Set<Socket>()
  after = 0
  cuts = 0
  private onCut: () => unknown = () => undefined

  constructor(private readonly to: number) {}

  async listen(): Promise<number> {
    await new Promise<void>((done) => this.server.listen(0, "127.0.0.1", done))
    return (this.server.address() as AddressInfo).port
  }

  private pass(from: Socket): void {
    const to = connect(this.to, "127.0.0.1")
    let left = this.after
    const through = (a: Socket, b: Socket): void => {
      this.open.add(a)
      a.on("error", () => undefined)
      a.on("close", () => {
        this.open.delete(a)
        b.end()
      })
      a.on("data", (part: Buffer) => {
        if (this.after === 0 || part.length < left) {
          left -= part.length
          b.write(part)
          return
        }
        this.cuts++
        this.onCut()
        b.write(part.subarray(0, left), () => [a, b].forEach((s) => s.destroy()))
        left = 0
        a.pause()
      })
    }
    through(from, to)
    through(to, from)
  }

  /** Ends what is open. */
  drop(): void {
    for (const s of this.open) s.destroy()
  }

  /** Resolves once so many more connections were cut. */
  async cut(more: number): Promise<void> {
    const end = this.cuts + more
    await new Promise<void>((resolve) => {
      this.onCut = () => this.cuts >= end && resolve()
    })
  }

  async close(): Promise<void> {
    this.drop()
    await new Promise<void>((done) => this.server.close(() => done()))
  }
}
