/** The other of a dm; the user themselves where they are alone in it; "" of a group. */
export function peerOf(conversation: string, me: string): string {
  if (!conversation.startsWith("dm:")) return ""
  return conversation.split(":").slice(1).find((u) => u !== me) ?? me
}
