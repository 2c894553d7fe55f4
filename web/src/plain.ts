export type Values = Record<string, unknown>

/**
 * Names and texts of others stand in sentences as they are. Lingui's Trans would take `<b>` in a value for an element of
 * the sentence, so after its `<` stands a character that is not seen. `<0/>` is how Trans itself says where an element
 * goes; in a text of others it shows that element once more, and nothing else.
 */
export function plain(values: Values): Values {
  return Object.fromEntries(Object.entries(values).map(([k, v]) => [k, typeof v === "string" ? v.replace(/<(?!\d+\/>)/g, "<\u2060") : v]))
}
