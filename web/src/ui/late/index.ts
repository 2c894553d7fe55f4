export * from "./Dialog.js"
export * from "./Menu.js"
export * from "./Popover.js"
