export { shared, type SharedOptions } from "./tab.js"
export type { Channel, Platform } from "./platform.js"
export type { Locks } from "../idbstore.js"
