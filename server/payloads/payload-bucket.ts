export type PayloadBucket = {
  bucket: string
  /** Set for a service other than Amazon's. */
  endpoint?: string
  /** If omitted, the SDK looks in its usual places: AWS_REGION, the profile. */
  region?: string
  /** If omitted, the SDK looks in its usual places: AWS_ variables, the profile, the role of the machine. */
  credentials?: { accessKeyId: string; secretAccessKey: string }
  /** Prefix of every key: empty, or ends with a slash. */
  prefix: string
  /** The bucket is in the path of a URL, not in its host name. */
  hasPathStyle: boolean
}
