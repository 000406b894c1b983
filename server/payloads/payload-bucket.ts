/** A bucket for payloads, of Amazon S3 or of any service that speaks its protocol. */
export type PayloadBucket = {
  bucket: string
  /** Of another service than Amazon's. */
  endpoint?: string
  /** Left out, the SDK looks for it as its users know it: AWS_REGION, the profile. */
  region?: string
  /** Left out, the SDK looks for them as its users know it: AWS_ variables, the profile, the role of the machine. */
  credentials?: { accessKeyId: string; secretAccessKey: string }
  /** What every key begins with: empty, or ends with a slash. */
  prefix: string
  /** The bucket stands in the path of a URL, not in its host name. */
  hasPathStyle: boolean
}
