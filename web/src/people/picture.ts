import { useEffect, useState } from "react"
import { accessToken } from "../auth/session.js"

/*
 * Pictures of people and groups. One that was uploaded is fetched with the session, since an <img> sends no header, and
 * kept as long as the page lives. An address elsewhere is not fetched: the page asks no other server for anything.
 */

const idForm = /^[A-Z2-7]{26}$/
/** At most so many are kept. */
const most = 400
const kept = new Map<string, Promise<string | undefined>>()

async function fetched(id: string): Promise<string | undefined> {
  const answer = await fetch(`/media/${id}/thumbnail`, { headers: { Authorization: `Bearer ${await accessToken()}` } })
  return answer.ok ? URL.createObjectURL(await answer.blob()) : undefined
}

function pictureOf(id: string): Promise<string | undefined> {
  let p = kept.get(id)
  if (p === undefined) {
    p = fetched(id).catch(() => {
      kept.delete(id) // no connection: asked again by who shows it next
      return undefined
    })
    kept.set(id, p)
    const [oldest] = kept.keys()
    if (kept.size > most && oldest !== undefined) {
      void kept.get(oldest)?.then((url) => url !== undefined && URL.revokeObjectURL(url))
      kept.delete(oldest)
    }
  }
  return p
}

/** Where a picture is that can be shown; undefined: none, or not yet. */
export function usePicture(picture: string | undefined): string | undefined {
  const id = picture !== undefined && idForm.test(picture) ? picture : undefined
  const [shown, setShown] = useState<{ id: string; url: string | undefined } | undefined>(undefined)
  useEffect(() => {
    if (id === undefined) return undefined
    let gone = false
    void pictureOf(id).then((url) => {
      if (!gone) setShown({ id, url })
    })
    return () => {
      gone = true
    }
  }, [id])
  return shown !== undefined && shown.id === id ? shown.url : undefined
}
