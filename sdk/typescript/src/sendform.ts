import { kindOf, validId } from "./conv.js"
import { SkeinError, invalid } from "./errors.js"
import { fromUuid, toBase64 } from "./ids.js"
import { contentBytes } from "./outbox.js"
import type { GroupMention, Poll, Send } from "./wire.js"

/*
 * What may come into the outbox. The server answers what it cannot read as a frame without naming a message, and
 * the conversation would wait for that message's answer for ever: so nothing of a wrong form gets that far.
 */

export interface SendOptions {
  /** Of the content; default "text". [a-z0-9._-]{1,64} */
  type?: string
  /** Instead of text. */
  data?: Uint8Array
  /** Shown by who does not know the type. */
  fallback?: string
  extra?: Record<string, string>
  replyTo?: number
  /** Says it in the thread of this message, the root: not among `messages`, but in `outbox` until it is stored. SPEC §4.36. */
  thread?: number
  /** With `thread`: it stands in the conversation as well, among `messages`, and is a message there as any other. */
  alsoInMain?: boolean
  mentions?: string[]
  groupMention?: GroupMention
  /** The server counts by it; what the options say stands in the content. */
  poll?: Poll
  silent?: boolean
  noPreview?: boolean
  /** Ids of uploads. */
  media?: string[]
  /** The program's own id (UUIDv7): sent again with it, it is the same message. */
  id?: string
  /** Ends the waiting for it to be stored; what is in the outbox is sent. */
  signal?: AbortSignal
}

export const typeForm = /^[a-z0-9._-]{1,64}$/

const isText = (v: unknown): boolean => typeof v === "string"
const isFlag = (v: unknown): boolean => typeof v === "boolean"
const isCount = (v: unknown): boolean => Number.isSafeInteger(v) && (v as number) >= 0
const isObject = (v: unknown): v is object => typeof v === "object" && v !== null && !Array.isArray(v)
const isTexts = (v: unknown): boolean => Array.isArray(v) && v.every(isText)

function isPoll(v: unknown): boolean {
  if (!isObject(v)) return false
  const { options = [], multiple = false, anonymous = false, untilMs = 0 } = v as Record<string, unknown>
  return Array.isArray(options) && options.every((o) => isObject(o) && isText((o as Record<string, unknown>).id)) && isFlag(multiple) && isFlag(anonymous) && isCount(untilMs)
}

const forms: { [K in keyof SendOptions]-?: (v: unknown) => boolean } = {
  type: isText, data: (v) => v instanceof Uint8Array, fallback: isText, extra: (v) => isObject(v) && Object.values(v).every(isText), replyTo: isCount, thread: isCount,
  mentions: isTexts, groupMention: (v) => v === "GROUP_MENTION_ALL" || v === "GROUP_MENTION_HERE", poll: isPoll, silent: isFlag, noPreview: isFlag, alsoInMain: isFlag,
  media: isTexts, id: isText, signal: isObject,
}

function checkForms(text: string, o: SendOptions): void {
  if (o.data === undefined && !isText(text)) throw invalid("the text is not a string")
  for (const [name, fits] of Object.entries(forms)) {
    const v = o[name as keyof SendOptions]
    if (v !== undefined && !fits(v)) throw new SkeinError({ code: "invalid_argument", message: `${name} has not the form that it needs`, field: name })
  }
}

/** A Send, after a look at what no server takes: that must never get into the outbox. */
export function sendOf(conversation: string, text: string, o: SendOptions): Omit<Send, "id"> & { id?: string } {
  const kind = kindOf(conversation)
  if (kind === "invalid") throw invalid(`${JSON.stringify(conversation)} is not a conversation`)
  if (kind === "me") throw invalid("the own feed takes no messages")
  checkForms(text, o)
  const s: Omit<Send, "id"> & { id?: string } = { conversation, content: { type: o.type ?? "text" } }
  if (o.data === undefined) s.content.text = text
  else s.content.data = toBase64(o.data)
  if (o.fallback) s.content.fallback = o.fallback
  const { extra, replyTo, mentions, groupMention, poll, silent, noPreview, media } = o
  for (const [name, v] of Object.entries({ extra, replyTo, mentions, groupMention, poll, silent, noPreview, media })) if (v !== undefined) Object.assign(s, { [name]: v })
  if (o.thread) s.thread = o.thread
  if (o.alsoInMain === true) {
    if (!o.thread) throw invalid("alsoInMain is for a message in a thread")
    s.alsoInMain = true
  }
  if (o.id !== undefined) s.id = fromUuid(o.id)
  check(s)
  return s
}

const bytes = (s: string): number => new TextEncoder().encode(s).length
/** A half of a pair of surrogates alone is no text. */
const loneSurrogate = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/

function check(s: Omit<Send, "id"> & { id?: string }): void {
  const tooLarge = (message: string): SkeinError => new SkeinError({ code: "too_large", message })
  const texts = [s.content.text, s.content.fallback, ...Object.values(s.extra ?? {})]
  if (texts.some((t) => t !== undefined && loneSurrogate.test(t))) throw invalid("the text is not valid Unicode")
  if (contentBytes(s) === 0) throw invalid("the message is empty")
  if (!typeForm.test(s.content.type ?? "")) throw invalid("a content's type matches [a-z0-9._-]{1,64}")
  if ((s.mentions?.length ?? 0) > 100) throw tooLarge("more than 100 mentions")
  if ((s.mentions ?? []).some((u) => !validId(u))) throw invalid("a mention is not a user id")
  if (bytes(s.content.fallback ?? "") > 1000) throw tooLarge("the fallback is longer than 1,000 bytes")
  const extra = Object.entries(s.extra ?? {})
  if (extra.length > 16) throw tooLarge("more than 16 keys in extra")
  if (extra.some(([key]) => !typeForm.test(key))) throw invalid("a key of extra matches [a-z0-9._-]{1,64}")
  if (extra.reduce((n, [key, v]) => n + bytes(key) + bytes(v), 0) > 4096) throw tooLarge("extra is longer than 4 KiB")
}
