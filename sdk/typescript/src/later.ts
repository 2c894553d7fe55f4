import type { CallOptions } from "./call.js"
import type { Method, Request, Response } from "./chat.js"
import { plainOf } from "./codec.js"
import { SkeinError, errorOf, invalid } from "./errors.js"
import { fromUuid, toUuid } from "./ids.js"
import type { Send, WireError } from "./wire.js"

/** A message that the server sends at a time. SPEC §4.19. */
export interface Scheduled {
  /** The id that the message has when it is sent. */
  id: string
  /** What is sent, in the JSON form of the API: numbers of 64 bits are text. */
  message: NonNullable<Request<"skein.v1.MessageService/ScheduleMessage">["message"]>
  /** When, Unix ms. */
  atMs: number
  /** sending: its time has come, it is changed and cancelled no more. failed: it was refused for good, and stays until it is changed or cancelled. */
  state: "waiting" | "sending" | "failed"
  /** Why it failed. */
  error: SkeinError | undefined
}

/** A message as a call tells it. */
export function saidOf(s: Omit<Send, "id"> & { id?: string }): Scheduled["message"] {
  return plainOf({ send: s as Send }).send as Scheduled["message"]
}

export function timeOf(atMs: number): string {
  if (!Number.isSafeInteger(atMs)) throw invalid(`${atMs} is no time in ms`)
  return String(atMs)
}

/** What a client does with the messages that are to be sent later. */
export abstract class Later {
  abstract call<M extends Method>(method: M, request: Request<M>, o?: CallOptions): Promise<Response<M>>

  /** The user's messages that are to be sent later, by their time, and those that failed then. */
  async scheduled(signal?: AbortSignal): Promise<Scheduled[]> {
    const all: Scheduled[] = []
    for (let cursor = ""; ; ) {
      const r = await this.call("skein.v1.MessageService/ListScheduled", { cursor }, signal === undefined ? {} : { signal })
      // A state is SCHEDULED_STATE_ and what it is here.
      for (const { message, atMs, state, error } of r.scheduled ?? []) {
        all.push({ id: toUuid(message.id ?? ""), message, atMs: Number(atMs), state: state.slice(16).toLowerCase() as Scheduled["state"], error: error === undefined ? undefined : errorOf(error as WireError) })
      }
      if (!(cursor = r.next ?? "")) return all
    }
  }

  /** Gives a scheduled message another time. */
  async moveScheduled(id: string, atMs: number): Promise<void> {
    await this.call("skein.v1.MessageService/ChangeScheduled", { id: fromUuid(id), atMs: timeOf(atMs) })
  }

  /** Removes a scheduled message. */
  async cancelScheduled(id: string): Promise<void> {
    await this.call("skein.v1.MessageService/CancelScheduled", { id: fromUuid(id) })
  }
}
