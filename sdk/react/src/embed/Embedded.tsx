import { useEffect, useLayoutEffect, useMemo, useRef, useState, type ReactElement } from "react"
import { Client, type ChatClient } from "@skein-im/client"
import { SkeinProvider } from "../context.js"
import { Access, socketOf } from "./access.js"
import { Conversation, Waiting } from "./Conversation.js"
import type { ConversationOptions } from "./options.js"
import { css } from "./styles.js"
import { textsOf } from "./texts.js"

/** What stands in a shadow root: the conversation with all that it needs. */
export function Embedded(o: ConversationOptions): ReactElement {
  const { server, lang, texts } = o
  const t = useMemo(() => ({ ...textsOf(lang ?? navigator.language), ...texts }), [lang, texts])
  const giver = useRef(o.getToken)
  giver.current = o.getToken
  const access = useMemo(() => new Access((rejected) => giver.current(rejected)), [server])
  const client = useOwn(o, access)
  const dark = useDark(o.theme ?? "auto")
  return (
    <section className="skein" data-theme={dark ? "dark" : "light"} lang={t.locale} aria-label={o.heading || t.title}>
      {client === undefined ? <Waiting t={t} /> : (
        <SkeinProvider client={client}>
          <Conversation key={o.conversation} client={client} server={server} conversation={o.conversation} access={access} t={t} heading={o.heading} onState={o.onState} />
        </SkeinProvider>
      )}
    </section>
  )
}

/** The page's client, or one that lives as long as this. */
function useOwn({ client: given, server, store, device }: ConversationOptions, access: Access): ChatClient | undefined {
  const [own, setOwn] = useState<ChatClient>()
  const first = useRef({ store, device })
  useEffect(() => {
    if (given !== undefined) return undefined
    const { store: kept, device: as } = first.current
    const client = new Client({ url: socketOf(server), getToken: access.get, client: "skein-embed/0.1", device: as ?? { id: "embed", class: "DEVICE_CLASS_OTHER" }, ...(kept === undefined ? {} : { store: kept }) })
    setOwn(client)
    return () => {
      setOwn(undefined)
      void client.close()
    }
  }, [given, server, access])
  const client = given ?? own
  useEffect(() => {
    if (client === undefined || given !== undefined) return undefined
    const back = (): void => client.reconnect()
    const seen = (): void => client.setBackground(document.visibilityState !== "visible")
    seen()
    addEventListener("online", back)
    document.addEventListener("visibilitychange", seen)
    return () => {
      removeEventListener("online", back)
      document.removeEventListener("visibilitychange", seen)
    }
  }, [client, given])
  return client
}

function useDark(theme: "auto" | "light" | "dark"): boolean {
  const query = useMemo(() => matchMedia("(prefers-color-scheme: dark)"), [])
  const [dark, setDark] = useState(query.matches)
  useLayoutEffect(() => {
    const change = (): void => setDark(query.matches)
    query.addEventListener("change", change)
    return () => query.removeEventListener("change", change)
  }, [query])
  return theme === "auto" ? dark : theme === "dark"
}

let sheet: CSSStyleSheet | undefined

/** The element's own tree, which no style of the page reaches, with this one's styles, which reach nothing of the page. A policy of the page for styles does not concern them. */
export function shadowOf(e: HTMLElement): ShadowRoot {
  const root = e.shadowRoot ?? e.attachShadow({ mode: "open" })
  if (sheet === undefined) {
    sheet = new CSSStyleSheet()
    sheet.replaceSync(css)
  }
  root.adoptedStyleSheets = [sheet]
  return root
}
