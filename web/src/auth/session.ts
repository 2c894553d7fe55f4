import { SkeinError, type DeviceClass, type Response } from "@skein-im/client"
import { alone } from "../locks.js"
import { http } from "./http.js"

/*
 * Who is logged in in this browser. The session lives in localStorage, which pages of this origin alone can read; the
 * policy of the page lets no script in but its own. All tabs share it. A refresh token is exchanged under a lock that
 * tabs share, so that one does it, and the others take what it got.
 */

export interface Session {
  user: string
  username: string
  session: string
  accessToken: string
  accessExpiresAtMs: number
  refreshToken: string
}

type Tokens = NonNullable<Response<"skein.v1.AccountService/Login">["tokens"]>

const key = "skein.session"
const deviceKey = "skein.device"
/** Tokens that end sooner are exchanged before they are used. */
const ahead = 20_000

const listeners = new Set<() => void>()
let raw: string | null = null
let now: Session | undefined

function read(): Session | undefined {
  const found = localStorage.getItem(key)
  if (found === raw) return now
  raw = found
  try {
    now = found === null ? undefined : (JSON.parse(found) as Session)
  } catch {
    now = undefined
  }
  return now
}

function tell(): void {
  for (const f of [...listeners]) f()
}

addEventListener("storage", (e) => {
  if (e.key === key || e.key === null) tell()
})

export const session = {
  getSnapshot: read,
  subscribe(f: () => void): () => void {
    listeners.add(f)
    return () => listeners.delete(f)
  },
}

/** This browser, by a random id. It outlives a logout: a list of sessions then shows one browser once. */
export function device(): { id: string; class: DeviceClass; name: string } {
  let id = localStorage.getItem(deviceKey)
  if (id === null) localStorage.setItem(deviceKey, (id = randomId()))
  return { id, class: "DEVICE_CLASS_WEB", name: browserName() }
}

function randomId(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("")
}

function browserName(): string {
  const agent = navigator.userAgent
  const browser = [["Edg/", "Edge"], ["OPR/", "Opera"], ["Firefox/", "Firefox"], ["Chrome/", "Chrome"], ["Safari/", "Safari"]].find(([mark]) => agent.includes(mark ?? ""))?.[1] ?? "Browser"
  const system = [["Android", "Android"], ["iPhone", "iPhone"], ["iPad", "iPad"], ["Mac OS", "macOS"], ["Windows", "Windows"], ["CrOS", "ChromeOS"], ["Linux", "Linux"]].find(([mark]) => agent.includes(mark ?? ""))?.[1]
  return system === undefined ? browser : `${browser}, ${system}`
}

function keep(t: Tokens, username: string): Session {
  const s: Session = {
    user: t.user ?? "", username, session: t.session ?? "", accessToken: t.accessToken ?? "",
    accessExpiresAtMs: Number(t.accessExpiresAtMs ?? 0), refreshToken: t.refreshToken ?? "",
  }
  localStorage.setItem(key, JSON.stringify(s))
  tell()
  return s
}

/** Logged in: what the server answered is the session of this browser from now on. */
export function begin(answer: { tokens?: Tokens }, username: string): Session {
  if (answer.tokens === undefined) throw new SkeinError({ code: "internal" })
  return keep(answer.tokens, username)
}

/** The session is over, here and in the other tabs. */
export function forget(): void {
  localStorage.removeItem(key)
  tell()
}

function usable(s: Session, rejected: string): boolean {
  return s.accessToken !== rejected && s.accessExpiresAtMs > Date.now() + ahead
}

/** The access token for a connection or a fetch; `rejected` is one that the server refused. */
export async function accessToken(rejected = ""): Promise<string> {
  const s = read()
  if (s === undefined) throw new SkeinError({ code: "unauthenticated" })
  if (usable(s, rejected)) return s.accessToken
  return alone("skein.refresh", async () => {
    const newest = read()
    if (newest === undefined) throw new SkeinError({ code: "unauthenticated" })
    if (usable(newest, rejected)) return newest.accessToken // another tab was here before
    if (newest.refreshToken === "") throw new SkeinError({ code: "token_expired" })
    const r = await http("skein.v1.AccountService/Refresh", { refreshToken: newest.refreshToken })
    if (r.tokens === undefined) throw new SkeinError({ code: "internal" })
    return keep(r.tokens, newest.username).accessToken
  })
}
