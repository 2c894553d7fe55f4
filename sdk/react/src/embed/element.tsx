import type { Root } from "react-dom/client"
import { createRoot } from "react-dom/client"
import type { Device, Store } from "@skein-im/client"
import { Embedded, shadowOf } from "./Embedded.js"
import type { ConversationOptions, TokenGiver } from "./options.js"
import type { Texts } from "./texts.js"

/*
 * <skein-conversation server conversation token-url theme lang heading>: the same as SkeinConversation, for pages
 * without React. Properties say what attributes cannot: getToken, store, device, texts. `skein-state` is dispatched with
 * each state, its detail is { state, code }.
 */

const attributes = ["server", "conversation", "token-url", "theme", "lang", "heading"] as const

/** Where the script came from: the server, unless the element names another. */
const script = typeof document === "undefined" ? null : document.currentScript
const from = script instanceof HTMLScriptElement && script.src !== "" ? new URL(script.src).origin : ""

export class SkeinConversationElement extends HTMLElement {
  static readonly observedAttributes = attributes

  private root: Root | undefined
  private due = false
  private giver: TokenGiver | undefined
  private kept: { store?: Store | undefined; device?: Device | undefined; texts?: Partial<Texts> | undefined } = {}

  get getToken(): TokenGiver | undefined {
    return this.giver
  }
  set getToken(f: TokenGiver | undefined) {
    this.giver = f
    this.changed()
  }
  set store(store: Store | undefined) {
    this.kept.store = store
  }
  set device(device: Device | undefined) {
    this.kept.device = device
  }
  set texts(texts: Partial<Texts> | undefined) {
    this.kept.texts = texts
    this.changed()
  }

  connectedCallback(): void {
    for (const name of ["getToken", "store", "device", "texts"] as const) this.takeOver(name)
    this.changed()
  }

  /** A page that moves the element takes it out and puts it in again at once: that ends nothing. */
  disconnectedCallback(): void {
    queueMicrotask(() => {
      if (this.isConnected) return
      this.root?.unmount()
      this.root = undefined
    })
  }

  attributeChangedCallback(): void {
    this.changed()
  }

  /** What a page set before the script was there. */
  private takeOver(name: "getToken" | "store" | "device" | "texts"): void {
    const own = Object.getOwnPropertyDescriptor(this, name)
    if (own === undefined) return
    Reflect.deleteProperty(this, name)
    Reflect.set(this, name, own.value)
  }

  private changed(): void {
    if (this.due) return
    this.due = true
    queueMicrotask(() => {
      this.due = false
      this.show()
    })
  }

  private show(): void {
    const conversation = this.getAttribute("conversation") ?? ""
    const server = this.getAttribute("server") ?? from
    if (!this.isConnected || conversation === "" || server === "" || (this.giver === undefined && !this.hasAttribute("token-url"))) return
    this.root ??= createRoot(shadowOf(this))
    this.root.render(<Embedded key={server} {...this.kept} server={server} conversation={conversation} getToken={this.token} theme={this.theme} lang={this.closest("[lang]")?.getAttribute("lang") ?? undefined} heading={this.getAttribute("heading") ?? undefined} onState={this.told} />)
  }

  private readonly token: TokenGiver = (rejected) => (this.giver ?? fetched(this.getAttribute("token-url") ?? ""))(rejected)

  private readonly told: ConversationOptions["onState"] = (state, error) => {
    this.dispatchEvent(new CustomEvent("skein-state", { detail: { state, code: error?.code ?? "" } }))
  }

  private get theme(): "auto" | "light" | "dark" {
    const t = this.getAttribute("theme")
    return t === "light" || t === "dark" ? t : "auto"
  }
}

/** A token of the page's own backend: POST, with the page's cookies, answers { token }. 401 and 403: there is none. */
function fetched(url: string): TokenGiver {
  return async () => {
    const r = await fetch(url, { method: "POST", headers: { "content-type": "application/json", accept: "application/json" }, body: "{}" })
    if (r.status === 401 || r.status === 403) return undefined
    if (!r.ok) throw new Error(`${url}: ${r.status}`)
    const { token } = (await r.json()) as { token?: unknown }
    return typeof token === "string" ? token : undefined
  }
}

if (customElements.get("skein-conversation") === undefined) customElements.define("skein-conversation", SkeinConversationElement)
