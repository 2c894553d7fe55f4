const mask = (1n << 64n) - 1n

function mix(h: bigint): bigint {
  h ^= h >> 33n
  h = (h * 0xff51afd7ed558ccdn) & mask
  h ^= h >> 33n
  h = (h * 0xc4ceb9fe1a85ec53n) & mask
  return h ^ (h >> 33n)
}

/** What a conversation whose last entry is seq adds to a digest. SPEC §7.4. */
export function headHash(conversation: string, seq: number): bigint {
  let h = 0xcbf29ce484222325n
  const text = `${conversation}:${seq}` // ids are ASCII
  for (let i = 0; i < text.length; i++) h = ((h ^ BigInt(text.charCodeAt(i))) * 0x100000001b3n) & mask
  return mix(h)
}

/** The digest of these conversations, as the wire has it. */
export function digestOf(heads: Iterable<readonly [conversation: string, seq: number]>): string {
  let sum = 0n
  for (const [conversation, seq] of heads) sum = (sum + headHash(conversation, seq)) & mask
  return String(sum)
}
