// Access tokens: JWT, HS256 alone.

import { decodeProtectedHeader, jwtVerify } from 'jose';

const LONGEST = 4096;
const OPTIONS = { algorithms: ['HS256'], issuer: 'storefront', requiredClaims: ['exp', 'iat', 'sub'], clockTolerance: 60 };
// Imported once: jose would otherwise import the secret again for every token.
const keys = Object.entries(JSON.parse(process.env.TOKEN_KEYS)).map(([kid, secret]) => ({
  kid,
  key: crypto.subtle.importKey('raw', Buffer.from(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']),
}));

/** The claims of a token that is valid by the key it names, or by any where it names none. */
export async function verify(token) {
  if (!token || token.length > LONGEST) {
    return undefined;
  }
  try {
    const { kid: named } = decodeProtectedHeader(token);
    for (const { kid, key } of keys) {
      if (named === undefined || named === kid) {
        const claims = await claimsOf(token, await key);
        if (claims) {
          return claims;
        }
      }
    }
  } catch {
    // No token of ours.
  }
  return undefined;
}

async function claimsOf(token, key) {
  try {
    const { payload } = await jwtVerify(token, key, OPTIONS);
    return isUserId(payload.sub) ? payload : undefined;
  } catch {
    return undefined;
  }
}

/** A user's id is written in one way only. */
function isUserId(text) {
  return typeof text === 'string' && /^(0|[1-9][0-9]*)$/.test(text) && Number.isSafeInteger(Number(text));
}
