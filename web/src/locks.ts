/** Locks that the tabs of this browser share. A page of plain http from another machine has none: there each tab is on its own. */
const locks: LockManager | undefined = navigator.locks

/** Runs f while no other tab does so under that name. */
export function alone<T>(name: string, f: () => Promise<T>): Promise<T> {
  return locks === undefined ? f() : locks.request(name, f) as Promise<T>
}

/** Whether this tab is the one of that name; it is until it is closed. */
export function claim(name: string): Promise<boolean> {
  if (locks === undefined) return Promise.resolve(true)
  return new Promise((resolve) => {
    void locks.request(name, { ifAvailable: true }, (lock) => {
      resolve(lock !== null)
      return lock === null ? undefined : new Promise(() => undefined)
    })
  })
}
