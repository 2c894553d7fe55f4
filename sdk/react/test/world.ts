import { createElement, type ReactElement, type ReactNode } from "react"
import { cleanup, renderHook, waitFor } from "@testing-library/react"
import { afterEach } from "vitest"
import { Client, type Method, type Request, type Response } from "@skein-im/client"
import { FakeServer, FakeSocket } from "@skein-im/client/test/fake"
import { SkeinProvider, type ProfileStore, type User } from "../src/index.js"

type Frame = Parameters<FakeServer["take"]>[1]
type ServerFrame = Parameters<FakeSocket["tell"]>[0]

/** The server in memory of the client's tests, which answers calls, too. */
export class Server extends FakeServer {
  readonly frames: Frame[] = []
  private readonly answers = new Map<string, (request: never) => object>()

  /** What a method answers; one that throws an object answers that error. */
  on<M extends Method>(method: M, f: (r: Request<M>) => Response<M>): void {
    this.answers.set(method, f as unknown as (request: never) => object)
  }

  calls<M extends Method>(method: M): Request<M>[] {
    return this.frames.flatMap((f) => (f.call?.method === method ? [f.call.json as Request<M>] : []))
  }

  tell(f: ServerFrame): void {
    for (const s of this.sockets) s.tell(f)
  }

  override take(s: FakeSocket, f: Frame): void {
    this.frames.push(f)
    if (f.call === undefined) return super.take(s, f)
    const { number, method, json } = f.call
    const answer = this.answers.get(method)
    try {
      if (answer === undefined) throw { code: "unimplemented", message: method }
      s.tell({ result: { number, json: answer(json as never) } })
    } catch (error) {
      s.tell({ result: { number, error: error as { code: string } } })
    }
  }
}

export interface World {
  server: Server
  client: Client
  wrapper: (p: { children: ReactNode }) => ReactElement
}

const clients: Client[] = []

afterEach(async () => {
  cleanup()
  await Promise.all(clients.splice(0).map((c) => c.close()))
})

/** Ann's client, connected; `fill` says what the server has. */
export async function world(fill: (s: Server) => void = () => undefined, profiles?: ProfileStore): Promise<World> {
  const server = new Server()
  fill(server)
  const client = new Client({ url: "ws://fake/ws", getToken: () => "t", WebSocket: server.webSocket("ann") })
  clients.push(client)
  await client.connected()
  return { server, client, wrapper: ({ children }) => createElement(SkeinProvider, { client, profiles }, children) }
}

export function hook<R, P>(w: World, f: (p: P) => R, initialProps: NoInfer<P>): ReturnType<typeof renderHook<R, P>> {
  return renderHook(f, { wrapper: w.wrapper, initialProps })
}

export const until = (fits: () => void): Promise<void> => waitFor(fits, { timeout: 15_000 })

export const user = (id: string, displayName = id): User => ({ id, displayName })
