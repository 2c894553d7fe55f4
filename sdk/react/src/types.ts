import type { EventMap, Response } from "@skein-im/client"

/** What the hooks work with: a Client, or one that several tabs share. */
export type { ChatClient } from "@skein-im/client"

/** A user's profile, as the server tells it. `deleted`: nothing else is known of them. */
export type User = NonNullable<Response<"skein.v1.UserService/GetUsers">["users"]>[number]

/** Whether somebody is there, and if not since when (0: not known). */
export type Presence = Omit<EventMap["presence"], "user">
