import { useLingui } from "@lingui/react/macro"
import { Suspense, useEffect, useSyncExternalStore } from "react"
import { useLocation } from "wouter"
import { ConversationList } from "../conversations/ConversationList.js"
import { later, Loading } from "../ui/index.js"
import { loadLate } from "../ui/Late.js"
import { ConversationPane } from "./ConversationPane.js"
import { Ended } from "./Ended.js"
import { ErrorBoundary } from "./ErrorBoundary.js"
import { openedFrom } from "./from.js"
import { Missing } from "./Missing.js"
import { Rail } from "./Rail.js"
import { Console, Details, JoinPage, Keys, NewGroup, PeoplePage, SearchPage, SettingsPage, Switcher, Thread, UiGallery, Welcome } from "./rooms.js"
import { placeOf, type Place } from "./place.js"
import { overlay } from "./switcher.js"
import { useKeys } from "./useKeys.js"
import { useOnePane } from "./useOnePane.js"
import { usePageTitle } from "./usePageTitle.js"
import s from "./Panes.module.css"

const ConnectionLine = later(() => import("./ConnectionLine.js").then((m) => m.ConnectionLine))
const Announcements = later(() => import("./Announcements.js").then((m) => m.Announcements))
const Start = later(() => import("./Start.js").then((m) => m.Start))

/** Three panes, two or one, as the window has room. What is in them is told by the address alone. */
export function Panes() {
  const { t } = useLingui()
  const [path] = useLocation()
  const place = placeOf(path)
  const conversation = place.room === "conversation" ? place.conversation : undefined
  const aside = place.room === "conversation" && place.aside !== undefined ? place.aside : undefined
  useKeys(upOf(place))
  usePageTitle(place)
  const one = useOnePane() // the pane that is seen is the page's main part, whichever it is
  useEffect(() => {
    // What opens above the page is loaded once everything else is there.
    const rest = setTimeout(() => void Promise.all([loadLate(), import("../timeline/ActionBar.js"), import("../timeline/MessageMenu.js"), import("../conversations/RowMenu.js"), import("../composer/AddItems.js"), import("../composer/State.js"), import("../composer/Completion.js"), import("../timeline/ContentMore.js")]).catch(() => undefined), 1200)
    return () => clearTimeout(rest)
  }, [])
  return (
    <Ended>
    <div className={s.app}>
      <ConnectionLine />
      <Announcements />
      <div className={s.panes} data-at={place.room === "start" ? "list" : place.room === "admin" ? "wide" : aside === undefined ? "main" : "aside"}>
        <Rail place={place} />
        <section className={s.list} role={one && place.room === "start" ? "main" : undefined} aria-label={t`Conversations`} data-pane tabIndex={-1}>
          <ErrorBoundary><ConversationList selected={conversation} /></ErrorBoundary>
        </section>
        <main className={s.main} data-pane tabIndex={-1}>
          <ErrorBoundary of={path}><Suspense fallback={<Loading />}><Main place={place} /></Suspense></ErrorBoundary>
        </main>
        {aside !== undefined && conversation !== undefined && (
          <section className={s.aside} role={one ? "main" : "complementary"} aria-label={aside === "details" ? t`Details` : t`Thread`} data-pane tabIndex={-1}>
            <ErrorBoundary of={path}>
              <Suspense fallback={<Loading />}>
                {aside === "details" ? <Details key={conversation} conversation={conversation} /> : <Thread key={`${conversation} ${aside}`} conversation={conversation} root={aside} />}
              </Suspense>
            </ErrorBoundary>
          </section>
        )}
      </div>
    </div>
    <Overlays />
    </Ended>
  )
}

/** Where Esc leads: what was opened last is left. */
function upOf(place: Place): string | undefined {
  if (place.room === "start") return undefined
  if (place.room === "conversation" && (place.aside !== undefined || place.focusSeq !== undefined)) return `/c/${place.conversation}`
  if (place.room === "people" && place.user !== undefined) return openedFrom() ?? "/people"
  if (place.room === "admin" && place.of !== undefined) return `/admin/${place.page}`
  return "/"
}

function Overlays() {
  const open = useSyncExternalStore(overlay.subscribe, overlay.getSnapshot)
  return <Suspense fallback={null}>{open === "switcher" ? <Switcher /> : open === "keys" ? <Keys /> : null}</Suspense>
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
    case "admin":
      return <Console page={place.page} id={place.of} />
    case "welcome":
      return <Welcome />
    case "gallery":
      return <UiGallery />
    case "nothing":
      return <Missing />
  }
}
