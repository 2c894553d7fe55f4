import { i18n } from "@lingui/core"
import { I18nProvider } from "@lingui/react"
import { Suspense } from "react"
import { Redirect, Route, Switch, useLocation } from "wouter"
import { useSession } from "../auth/useSession.js"
import { Tooltips } from "../ui/Tooltip.js"
import { Loading, Toasts } from "../ui/index.js"
import { ErrorBoundary } from "./ErrorBoundary.js"
import { JoinPage, Login, Register, Reset, Shell } from "./rooms.js"

/** Everything: the pages of who is not logged in, or the shell. */
export function App() {
  return (
    <I18nProvider i18n={i18n}>
        <ErrorBoundary whole>
          <Suspense fallback={<Loading />}><Pages /></Suspense>
        </ErrorBoundary>
        <Toasts />
        <Tooltips />
    </I18nProvider>
  )
}

function Pages() {
  const session = useSession()
  const [at] = useLocation()
  if (at === "/reset") return <Reset /> // also for who is logged in here: it ends that
  if (session === undefined) {
    return (
      <Switch>
        <Route path="/register"><Register /></Route>
        <Route path="/login"><Login /></Route>
        <Route path="/join/:token">{({ token }) => <JoinPage token={token} />}</Route>
        <Route><Redirect to={`/login${location.pathname === "/" ? "" : `?next=${encodeURIComponent(location.pathname + location.search)}`}`} replace /></Route>
      </Switch>
    )
  }
  return <Shell key={session.user} />
}
