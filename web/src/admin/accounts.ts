import type { ChatClient, Response } from "@skein-im/client"

export type Account = NonNullable<Response<"skein.v1.AdminService/ListUsers">["accounts"]>[number]

/** What of the users is looked at. */
export const views = ["all", "roles", "banned", "disabled", "guests", "deleted"] as const
export type View = (typeof views)[number]

export const viewOf = (text: string): View => views.find((v) => v === text) ?? "all"

/** What is asked for a view. */
export function asked(view: View): { guests?: boolean; withRole?: boolean; state?: NonNullable<Account["state"]> } {
  switch (view) {
    case "all":
      return {}
    case "roles":
      return { withRole: true }
    case "guests":
      return { guests: true }
    case "banned":
      return { state: "ACCOUNT_STATE_BANNED" }
    case "disabled":
      return { state: "ACCOUNT_STATE_DISABLED" }
    case "deleted":
      return { state: "ACCOUNT_STATE_DELETED" }
  }
}

/** The account with an id. Others whose names begin so may come before it. */
export async function accountOf(call: ChatClient["call"], id: string, signal?: AbortSignal): Promise<Account | undefined> {
  return found(call, id, (a) => a.user?.id === id, () => false, signal)
}

/** The account whose id somebody typed into a field, or else who is called so; with an @ before it, it is a name alone. */
export async function accountNamed(call: ChatClient["call"], typed: string, signal?: AbortSignal): Promise<Account | undefined> {
  const text = typed.trim()
  const name = text.replace(/^@/, "")
  if (name === "") return undefined
  const called = (a: Account): boolean => a.user?.username === name.toLowerCase()
  return text === name ? found(call, name, (a) => a.user?.id === name, called, signal) : found(call, name, called, () => false, signal)
}

/** The account that is it, on whatever page; if none is, the first that may be meant. */
async function found(call: ChatClient["call"], query: string, is: (a: Account) => boolean, mayBe: (a: Account) => boolean, signal?: AbortSignal): Promise<Account | undefined> {
  let cursor = ""
  let other: Account | undefined
  do {
    const page = await call("skein.v1.AdminService/ListUsers", { query: query.slice(0, 64), limit: 500, cursor }, signal === undefined ? {} : { signal })
    const one = page.accounts?.find(is)
    if (one !== undefined) return one
    other ??= page.accounts?.find(mayBe)
    cursor = page.next ?? ""
  } while (cursor !== "")
  return other
}

const hour = 3_600_000
const day = 24 * hour

/** How long a ban is. */
export const terms = { hour, day, week: 7 * day, month: 30 * day, ever: 0 } as const
export type Term = keyof typeof terms | "until"

/** Until when a ban is that begins now; 0: for ever; undefined: the day that was chosen is none, or is over. */
export function banUntil(term: Term, untilMs: number | undefined, nowMs: number): number | undefined {
  if (term === "until") return untilMs === undefined || untilMs <= nowMs ? undefined : untilMs
  return term === "ever" ? 0 : nowMs + terms[term]
}
