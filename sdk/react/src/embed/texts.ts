/** All that the conversation says by itself. A page that wants other words, or another language, gives them (`texts`). */
export interface Texts {
  /** For `lang` of what is shown, and for times and dates. */
  locale: string
  title: string
  messages: string
  empty: string
  connecting: string
  offline: string
  expired: string
  expiredWhy: string
  refused: string
  refusedWhy: string
  forbidden: string
  forbiddenWhy: string
  replaced: string
  replacedWhy: string
  otherVersion: string
  otherVersionWhy: string
  failed: string
  mayNotWrite: string
  again: string
  useHere: string
  older: string
  newest: string
  write: string
  send: string
  attach: string
  drop: string
  you: string
  someone: string
  today: string
  yesterday: string
  edited: string
  recalled: string
  before: string
  pending: string
  sent: string
  delivered: string
  read: string
  notSent: string
  discard: string
  cancel: string
  uploading: string
  notUploaded: string
  picture: string
  pictureGone: string
  file: string
  open: string
  notOpened: string
  tooLarge: string
  tooOften: string
  wrong: string
  typing: (names: string) => string
  /** Several type. */
  typingMany: string
  unread: (n: number) => string
  reaction: (reaction: string, n: number) => string
  from: (name: string) => string
  /** What one may do about a message. */
  acts: string
  reply: string
  replyTo: (name: string) => string
  noReply: string
  react: (reaction: string) => string
  pollOne: string
  pollMany: string
  pollEnded: string
  anonymous: string
  voters: (n: number) => string
}

export const english: Texts = {
  locale: "en",
  title: "Conversation",
  messages: "Messages",
  empty: "Nothing has been said yet. Write the first message.",
  connecting: "Connecting …",
  offline: "No connection. Trying again …",
  expired: "This conversation was closed",
  expiredWhy: "Your access is over. Load the page again, or try again.",
  refused: "This page may not show the conversation",
  refusedWhy: "The chat server does not take connections from this site.",
  forbidden: "You cannot see this conversation",
  forbiddenWhy: "It does not exist, or you are not part of it.",
  replaced: "Open in another place",
  replacedWhy: "You opened this conversation somewhere else.",
  otherVersion: "Another tab has a different version of this page",
  otherVersionWhy: "Close the other tabs of this site, then try again.",
  failed: "The conversation cannot be shown",
  mayNotWrite: "You are no longer part of this conversation.",
  again: "Try again",
  useHere: "Use it here",
  older: "Older messages",
  newest: "To the newest message",
  write: "Write a message",
  send: "Send",
  attach: "Attach files",
  drop: "Drop files here",
  you: "You",
  someone: "Someone",
  today: "Today",
  yesterday: "Yesterday",
  edited: "edited",
  recalled: "This message was taken back.",
  before: "A message from before",
  pending: "Waiting to be sent",
  sent: "Sent",
  delivered: "Delivered",
  read: "Read",
  notSent: "Not sent",
  discard: "Discard",
  cancel: "Cancel",
  uploading: "Uploading",
  notUploaded: "Not uploaded",
  picture: "Picture",
  pictureGone: "The picture cannot be shown.",
  file: "File",
  open: "Open",
  notOpened: "It cannot be opened now.",
  tooLarge: "This is too large.",
  tooOften: "That was too often. Wait a moment.",
  wrong: "That did not work.",
  typing: (names) => `${names} is typing …`,
  typingMany: "Several people are typing …",
  unread: (n) => (n === 1 ? "1 new message" : `${n} new messages`),
  reaction: (reaction, n) => `${reaction}, ${n === 1 ? "1 person" : `${n} people`}`,
  from: (name) => `From ${name}`,
  acts: "Reply or react",
  reply: "Reply",
  replyTo: (name) => `Reply to ${name}`,
  noReply: "Do not reply",
  react: (reaction) => `React with ${reaction}`,
  pollOne: "Choose one",
  pollMany: "Choose any number",
  pollEnded: "Ended",
  anonymous: "anonymous",
  voters: (n) => (n === 0 ? "No votes yet" : n === 1 ? "1 person voted" : `${n} people voted`),
}

export const chinese: Texts = {
  locale: "zh-CN",
  title: "会话",
  messages: "消息",
  empty: "还没有消息，来写第一条吧。",
  connecting: "正在连接…",
  offline: "连接已断开，正在重试…",
  expired: "会话已关闭",
  expiredWhy: "访问权限已到期。请刷新页面，或重试。",
  refused: "此页面不能显示该会话",
  refusedWhy: "聊天服务器不接受来自本网站的连接。",
  forbidden: "你看不到这个会话",
  forbiddenWhy: "会话不存在，或你不是其中的成员。",
  replaced: "已在别处打开",
  replacedWhy: "你在另一个地方打开了这个会话。",
  otherVersion: "另一个标签页使用的是此页面的其他版本",
  otherVersionWhy: "请关闭本网站的其他标签页，然后重试。",
  failed: "无法显示会话",
  mayNotWrite: "你已不在这个会话中。",
  again: "重试",
  useHere: "在这里使用",
  older: "更早的消息",
  newest: "跳到最新消息",
  write: "写消息",
  send: "发送",
  attach: "添加文件",
  drop: "把文件拖到这里",
  you: "你",
  someone: "某人",
  today: "今天",
  yesterday: "昨天",
  edited: "已编辑",
  recalled: "消息已撤回。",
  before: "之前的一条消息",
  pending: "等待发送",
  sent: "已发送",
  delivered: "已送达",
  read: "已读",
  notSent: "未发送",
  discard: "丢弃",
  cancel: "取消",
  uploading: "正在上传",
  notUploaded: "上传失败",
  picture: "图片",
  pictureGone: "图片无法显示。",
  file: "文件",
  open: "打开",
  notOpened: "现在无法打开。",
  tooLarge: "内容太大了。",
  tooOften: "操作太频繁，请稍等。",
  wrong: "操作没有成功。",
  typing: (names) => `${names}正在输入…`,
  typingMany: "多人正在输入…",
  unread: (n) => `${n} 条新消息`,
  reaction: (reaction, n) => `${reaction}，${n} 人`,
  from: (name) => `来自${name}`,
  acts: "回复或回应",
  reply: "回复",
  replyTo: (name) => `回复${name}`,
  noReply: "取消回复",
  react: (reaction) => `用 ${reaction} 回应`,
  pollOne: "单选",
  pollMany: "可多选",
  pollEnded: "已结束",
  anonymous: "匿名",
  voters: (n) => (n === 0 ? "还没有人投票" : `${n} 人已投票`),
}

/** The texts of a language tag: Chinese for zh and its like, English for all others. */
export function textsOf(lang: string): Texts {
  return /^zh\b/i.test(lang) ? chinese : english
}
