import type { ProfileStore } from "./profiles.js"
import type { User } from "./types.js"

const table = "users"

/** Profiles in IndexedDB, in a database of their own; one for a user. */
export class IndexedDBProfiles implements ProfileStore {
  private db: Promise<IDBDatabase> | undefined

  constructor(private readonly name: string) {}

  async load(): Promise<readonly User[]> {
    const db = await this.open()
    return await answer(db.transaction(table).objectStore(table).getAll() as IDBRequest<User[]>)
  }

  async save(users: readonly User[]): Promise<void> {
    const tx = (await this.open()).transaction(table, "readwrite")
    for (const u of users) tx.objectStore(table).put(u)
    await new Promise<void>((resolve, reject) => {
      tx.oncomplete = () => resolve()
      tx.onabort = tx.onerror = () => reject(tx.error ?? new Error("the transaction was aborted"))
    })
  }

  /** Forgets everybody: for when the user logs out. */
  async delete(): Promise<void> {
    const db = await this.db?.catch(() => undefined)
    db?.close()
    this.db = undefined
    await answer(indexedDB.deleteDatabase(this.name))
  }

  private open(): Promise<IDBDatabase> {
    this.db ??= this.connect()
    return this.db
  }

  private async connect(): Promise<IDBDatabase> {
    const request = indexedDB.open(this.name, 1)
    request.onupgradeneeded = () => request.result.createObjectStore(table, { keyPath: "id" })
    const db = await answer(request)
    // Another tab that deletes it is not held up, nor does this one go on with what is gone.
    db.onversionchange = () => {
      db.close()
      this.db = undefined
    }
    return db
  }
}

function answer<T>(r: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    r.onsuccess = () => resolve(r.result)
    r.onerror = () => reject(r.error ?? new Error("IndexedDB failed"))
  })
}
