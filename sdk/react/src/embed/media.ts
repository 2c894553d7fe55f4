import { useEffect, useState } from "react"
import { SkeinError, type ChatClient } from "@skein-im/client"
import { useScene } from "./scene.js"

export interface Place {
  id: string
  conversation: string
  seq: number
}

/** An address that a browser fetches without a header, for some minutes (LinkMedia, SPEC §13.5). */
export async function linkOf(client: ChatClient, server: string, p: Place, thumbnail = false): Promise<string> {
  const { path } = await client.call("skein.v1.MediaService/LinkMedia", { media: { ...p, seq: String(p.seq) }, thumbnail })
  if (path === undefined || !path.startsWith("/media/")) throw new SkeinError({ code: "not_found" })
  return server.replace(/\/$/, "") + path
}

/** A picture as an address of this page, as long as it is shown: it is fetched, so no right of its own is needed later, and no other site's rules concern it. */
export function usePicture(p: Place, thumbnail: boolean): { url: string; failed: boolean } {
  const { client, server } = useScene()
  const [state, setState] = useState({ url: "", failed: false })
  const { id, conversation, seq } = p
  useEffect(() => {
    if (seq === 0) return undefined // on its way
    let over = false
    let url = ""
    const fetched = async (): Promise<void> => {
      const r = await fetch(await linkOf(client, server, { id, conversation, seq }, thumbnail))
      if (!r.ok) throw new SkeinError({ code: "not_found" })
      const blob = await r.blob()
      if (over) return
      url = URL.createObjectURL(blob)
      setState({ url, failed: false })
    }
    fetched().catch(() => over || setState({ url: "", failed: true }))
    return () => {
      over = true
      if (url !== "") URL.revokeObjectURL(url)
    }
  }, [client, server, id, conversation, seq, thumbnail])
  return state
}

/** Opens an upload in a tab of its own; what is no picture, sound or film the server has the browser keep as a file. */
export async function openMedia(client: ChatClient, server: string, p: Place): Promise<void> {
  const a = document.createElement("a")
  a.href = await linkOf(client, server, p)
  a.target = "_blank"
  a.rel = "noopener noreferrer"
  a.click()
}
