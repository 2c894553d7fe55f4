import { createFileRegistry, fromBinary, type DescMessage } from "@bufbuild/protobuf"
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt"
import { fromBase64 } from "../ids.js"
import { descriptors } from "./descriptors_gen.js"

const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, fromBase64(descriptors)))

function schema(name: string): DescMessage {
  const m = registry.getMessage(`skein.v1.${name}`)
  if (m === undefined) throw new Error(`there is no ${name} in the descriptors`)
  return m
}

/** What the two sides say. */
export const client = schema("ClientFrame")
export const server = schema("ServerFrame")
