import type { Message } from "@skein-im/client"

/** For tests: a message of Ann's, a second after the one before. */
export const noon = new Date(2026, 4, 3, 12).getTime()

export function message(seq: number, more: Partial<Message> = {}): Message {
  return {
    conversation: "grp:a", seq, id: `id${seq}`, sender: "ann", own: false, status: "", error: undefined, atMs: noon + seq * 1000, kind: "message", type: "text", text: `m${seq}`,
    data: undefined, fallback: "", extra: {}, replyTo: 0, thread: 0, alsoInMain: false, replies: undefined, mentions: [], groupMention: undefined, recalled: false, editedAtMs: 0, edits: 0, reactions: [], poll: undefined,
    pinned: undefined, silent: false, forward: undefined, media: [], preview: undefined, streaming: false, replaced: 0, cutOff: false, event: undefined, ...more,
  } as Message
}
