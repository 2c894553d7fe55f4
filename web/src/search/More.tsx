import { Trans } from "@lingui/react/macro"
import type { Search } from "@skein-im/react"
import { useEffect, useRef } from "react"
import { Button, ErrorNote } from "../ui/index.js"
import s from "./Search.module.css"

/** The end of a list that has more: it is asked for when this comes near. The button is for who has no scroll, and after an error. */
export function More({ of }: { of: Search }) {
  const here = useRef<HTMLDivElement>(null)
  const { more, loadingMore, loadMore, error } = of
  useEffect(() => {
    const at = here.current
    if (at === null || !more || loadingMore || error !== undefined) return undefined
    const seen = new IntersectionObserver((all) => { if (all.some((e) => e.isIntersecting)) loadMore() }, { rootMargin: "600px" })
    seen.observe(at)
    return () => seen.disconnect()
  }, [more, loadingMore, loadMore, error])
  if (!more) return null
  return (
    <div ref={here} className={s.more}>
      {error !== undefined ? <ErrorNote error={error} onRetry={loadMore} /> : <Button look="quiet" busy={loadingMore} onClick={loadMore}><Trans>Show more</Trans></Button>}
    </div>
  )
}
