import { useLayoutEffect, useRef, useState, type CSSProperties, type ReactElement } from "react"
import { createPortal } from "react-dom"
import { Embedded, shadowOf } from "./Embedded.js"
import type { ConversationOptions } from "./options.js"

export interface SkeinConversationProps extends ConversationOptions {
  /** Of the element around it: its place and size are the page's. */
  className?: string | undefined
  style?: CSSProperties | undefined
}

/** One conversation, in a page of somebody else's. No style of the page reaches into it, and none of its own out of it. */
export function SkeinConversation({ className, style, ...options }: SkeinConversationProps): ReactElement {
  const host = useRef<HTMLDivElement>(null)
  const [root, setRoot] = useState<ShadowRoot>()
  useLayoutEffect(() => {
    if (host.current !== null) setRoot(shadowOf(host.current))
  }, [])
  return <div ref={host} className={className} style={style}>{root !== undefined && createPortal(<Embedded {...options} />, root)}</div>
}
