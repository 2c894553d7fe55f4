import { useEffect, useSyncExternalStore } from "react"
import type { Response, SkeinError } from "@skein-im/client"
import { errorFrom, useClient, type ChatClient } from "@skein-im/react"

export type Group = NonNullable<Response<"skein.v1.GroupService/GetGroup">["group"]>
export type Member = NonNullable<Response<"skein.v1.GroupService/ListMembers">["members"]>[number]

export interface GroupState {
  group: Group | undefined
  /** The first thousand; of a larger group the others are found by asking. */
  members: ReadonlyMap<string, Member>
  error: SkeinError | undefined
}

const unknown: GroupState = { group: undefined, members: new Map(), error: undefined }
const mostMembers = 1000

/** A group as it is, read when it is first shown and again after each event that changes it. */
class Watched {
  private state = unknown
  private readonly listeners = new Set<() => void>()
  private reading = false
  private again = false

  constructor(private readonly client: ChatClient, private readonly id: string) {
    client.on("group", (e) => {
      if (e.conversation === id) void this.read()
    })
  }

  readonly getSnapshot = (): GroupState => this.state
  readonly subscribe = (f: () => void): (() => void) => {
    this.listeners.add(f)
    return () => this.listeners.delete(f)
  }

  /** Several events in a row are one reading more. */
  async read(): Promise<void> {
    if (this.reading) {
      this.again = true
      return
    }
    this.reading = true
    do {
      this.again = false
      try {
        const of = { conversation: this.id }
        const [{ group }, { members = [] }] = await Promise.all([
          this.client.call("skein.v1.GroupService/GetGroup", of), this.client.call("skein.v1.GroupService/ListMembers", { ...of, limit: mostMembers }),
        ])
        this.state = { group, members: new Map(members.map((m) => [m.user ?? "", m])), error: undefined }
      } catch (e) {
        this.state = { ...this.state, error: errorFrom(e) }
      }
      for (const f of [...this.listeners]) f()
    } while (this.again)
    this.reading = false
  }
}

const all = new WeakMap<ChatClient, Map<string, Watched>>()

function watched(client: ChatClient, id: string): Watched {
  let groups = all.get(client)
  if (groups === undefined) all.set(client, (groups = new Map()))
  let w = groups.get(id)
  if (w === undefined) groups.set(id, (w = new Watched(client, id)))
  return w
}

const none = { subscribe: () => () => undefined, getSnapshot: () => unknown }

/** Of a dm it is empty. */
export function useGroup(conversation: string): GroupState {
  const client = useClient()
  const w = conversation.startsWith("grp:") ? watched(client, conversation) : undefined
  useEffect(() => void w?.read(), [w])
  const { subscribe, getSnapshot } = w ?? none
  return useSyncExternalStore(subscribe, getSnapshot)
}

export function isAdmin(g: GroupState): boolean {
  return g.group?.role === "ROLE_OWNER" || g.group?.role === "ROLE_ADMIN"
}
