import { useSyncExternalStore } from "react"
import type { Message } from "@skein-im/client"
import { useClient, type ChatClient } from "@skein-im/react"

/** What timeline and composer of a conversation know of each other: what is answered, edited, selected. It is forgotten with the page. */
export interface TalkState {
  reply: Message | undefined
  edit: Message | undefined
  /** Messages that are selected, by their seqs; undefined: nothing is being selected. */
  selected: ReadonlySet<number> | undefined
}

const nothing: TalkState = { reply: undefined, edit: undefined, selected: undefined }

export class Talk {
  private state = nothing
  private readonly listeners = new Set<() => void>()
  /** Puts the cursor into the composer. */
  focus: () => void = () => undefined
  /** Takes the timeline to its end: the user has written. */
  toEnd: () => void = () => undefined
  /** The last own message that may be edited. */
  lastOwn: () => Message | undefined = () => undefined

  readonly getSnapshot = (): TalkState => this.state
  readonly subscribe = (f: () => void): (() => void) => {
    this.listeners.add(f)
    return () => this.listeners.delete(f)
  }

  private set(change: Partial<TalkState>): void {
    this.state = { ...this.state, ...change }
    for (const f of [...this.listeners]) f()
  }

  reply(m: Message | undefined): void {
    this.set({ reply: m, edit: undefined })
    if (m !== undefined) this.focus()
  }

  edit(m: Message | undefined): void {
    this.set({ edit: m, reply: undefined })
    this.focus()
  }

  select(seq: number): void {
    const now = new Set(this.state.selected)
    if (!now.delete(seq)) now.add(seq)
    this.set({ selected: now })
  }

  endSelection(): void {
    this.set({ selected: undefined })
  }

  done(): void {
    this.set({ reply: undefined, edit: undefined })
  }
}

const talks = new WeakMap<ChatClient, Map<string, Talk>>()

/** Each thread has one of its own. */
export function talkOf(client: ChatClient, conversation: string, thread = 0): Talk {
  let all = talks.get(client)
  if (all === undefined) talks.set(client, (all = new Map()))
  const key = `${conversation} ${thread}`
  let talk = all.get(key)
  if (talk === undefined) all.set(key, (talk = new Talk()))
  return talk
}

export function useTalk(conversation: string, thread = 0): [Talk, TalkState] {
  const talk = talkOf(useClient(), conversation, thread)
  return [talk, useSyncExternalStore(talk.subscribe, talk.getSnapshot)]
}
