import { PresenceWatch } from "./presence.js"
import { Profiles } from "./profiles.js"
import { TypingWatch } from "./typing.js"
import type { ChatClient } from "./types.js"

/** What the hooks of one client share: each is asked and listened to once, however many components look. */
export interface Session {
  readonly client: ChatClient
  readonly profiles: Profiles
  readonly presence: PresenceWatch
  readonly typing: TypingWatch
}

const sessions = new WeakMap<ChatClient, Session>()

/** It lives as long as the client does, so it needs no end of its own. */
export function sessionOf(client: ChatClient): Session {
  let s = sessions.get(client)
  if (s === undefined) {
    s = { client, profiles: new Profiles(client), presence: new PresenceWatch(client), typing: new TypingWatch(client) }
    sessions.set(client, s)
  }
  return s
}
