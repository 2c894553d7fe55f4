import { useLingui } from "@lingui/react/macro"
import { Suspense } from "react"
import { useLocation } from "wouter"
import { ConversationList } from "../conversations/ConversationList.js"
import { Loading } from "../ui/index.js"
import { ConnectionLine } from "./ConnectionLine.js"
import { ConversationPane } from "./ConversationPane.js"
import { ErrorBoundary } from "./ErrorBoundary.js"
import { Missing } from "./Missing.js"
import { Rail } from "./Rail.js"
import { Details, JoinPage, NewGroup, PeoplePage, SearchPage, SettingsPage, Thread, UiGallery, Welcome } from "./rooms.js"
import { placeOf, type Place } from "./place.js"
import { Start } from "./Start.js"
import s from "./Panes.module.css"

/** Three panes, two or one, as the window has room. What is in them is told by the address alone. */
export function Panes() {
  const { t } = useLingui()
  const [path] = useLocation()
  const place = placeOf(path)
  const conversation = place.room === "conversation" ? place.conversation : undefined
  const aside = place.room === "conversation" && place.aside !== undefined ? place.aside : undefined
  return (
    <div className={s.app}>
      <ConnectionLine />
      <div className={s.panes} data-at={place.room === "start" ? "list" : aside === undefined ? "main" : "aside"}>
        <Rail place={place} />
        <section className={s.list} aria-label={t`Conversations`} data-pane tabIndex={-1}>
          <ErrorBoundary><ConversationList selected={conversation} /></ErrorBoundary>
        </section>
        <main className={s.main} data-pane tabIndex={-1}>
          <ErrorBoundary of={path}><Suspense fallback={<Loading />}><Main place={place} /></Suspense></ErrorBoundary>
        </main>
        {aside !== undefined && conversation !== undefined && (
          <aside className={s.aside} aria-label={aside === "details" ? t`Details` : t`Thread`} data-pane tabIndex={-1}>
            <ErrorBoundary of={path}>
              <Suspense fallback={<Loading />}>
                {aside === "details" ? <Details key={conversation} conversation={conversation} /> : <Thread key={`${conversation} ${aside}`} conversation={conversation} root={aside} />}
              </Suspense>
            </ErrorBoundary>
          </aside>
        )}
      </div>
    </div>
  )
}

function Main({ place }: { place: Place }) {
  switch (place.room) {
    case "start":
      return <Start />
    case "conversation":
      return <ConversationPane key={place.conversation} conversation={place.conversation} focusSeq={place.focusSeq} aside={place.aside} />
    case "people":
      return <PeoplePage {...(place.user === undefined ? {} : { user: place.user })} />
    case "newGroup":
      return <NewGroup />
    case "join":
      return <JoinPage token={place.token} />
    case "search":
      return <SearchPage />
    case "settings":
      return <SettingsPage page={place.page} />
    case "welcome":
      return <Welcome />
    case "gallery":
      return <UiGallery />
    case "nothing":
      return <Missing />
  }
}
