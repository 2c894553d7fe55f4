import { SkeinError } from "@skein-im/client"
import type { TokenGiver } from "./options.js"

/** Keeps the token that the page gave, in memory alone, for the connection and for uploads; asks for another when it is refused. */
export class Access {
  private token = ""
  private asking: Promise<string> | undefined

  /** `ask` is the page's, as it is now. */
  constructor(private readonly ask: TokenGiver) {}

  readonly get = (rejected: string): Promise<string> | string => {
    if (this.token !== "" && this.token !== rejected) return this.token
    this.asking ??= this.fresh(rejected).finally(() => (this.asking = undefined))
    return this.asking
  }

  private async fresh(rejected: string): Promise<string> {
    const token = await this.ask(rejected)
    this.token = token ?? ""
    if (token === undefined || token === "") throw new SkeinError({ code: "token_invalid", message: "the page gives no token" })
    return token
  }
}

/** wss://chat.example/ws of https://chat.example */
export function socketOf(server: string): string {
  const url = new URL(server)
  if (url.protocol !== "http:" && url.protocol !== "https:") throw new SkeinError({ code: "invalid_argument", message: `${server}: want http: or https:` })
  return `${url.protocol === "https:" ? "wss:" : "ws:"}//${url.host}${url.pathname.replace(/\/$/, "")}/ws`
}
