import { lazy, Suspense, type ComponentType } from "react"

/** A component whose code is loaded when it is first shown: for what few ever open. */
export function later<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  const Lazy = lazy(async () => ({ default: await load() }))
  return function Later(props: P) {
    return <Suspense fallback={null}><Lazy {...props} /></Suspense>
  }
}
