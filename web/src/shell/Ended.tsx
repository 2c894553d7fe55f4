import { useConnection, useEvent } from "@skein-im/react"
import { useState, type ReactNode } from "react"
import { later } from "../ui/index.js"

const Replaced = later(() => import("./Over.js").then((m) => m.Replaced))
const Over = later(() => import("./Over.js").then((m) => m.Over))

/** The client was told to stop: another device took its place, the session is over, or it fits no more. */
export function Ended({ children }: { children: ReactNode }) {
  const { state, error } = useConnection()
  const [by, setBy] = useState("")
  useEvent("state", (e) => { if (e.by !== undefined) setBy(e.by.name ?? "") })
  if (state !== "stopped" && state !== "closed") return children
  if (error?.code === "replaced" || error?.code === "store_taken") return <Replaced by={by} tab={error.code === "store_taken"} />
  return <Over error={error} />
}
