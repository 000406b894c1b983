export type PayloadBucket = {
  bucket: string
  /** Set only for services other than Amazon's. */
  endpoint?: string
  /** If omitted, the SDK uses its default sources: AWS_REGION or the profile. */
  region?: string
  /** If omitted, the SDK uses its default sources: AWS_ variables, the profile or the machine's role. */
  credentials?: { accessKeyId: string; secretAccessKey: string }
  /** Prefix of every key: empty, or ends with a slash. */
  prefix: string
  /** Whether URLs have the bucket's name in the path instead of the host name. */
  hasPathStyle: boolean
}
