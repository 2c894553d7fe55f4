export { SkeinConversation, type SkeinConversationProps } from "./SkeinConversation.js"
export type { ConversationOptions, ConversationState, TokenGiver } from "./options.js"
export { chinese, english, type Texts } from "./texts.js"
