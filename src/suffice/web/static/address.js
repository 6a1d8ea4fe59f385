// A question as the part of an address after the #: a browser sends that part to nobody.

export function coded(question) {
  const data = new TextEncoder().encode(JSON.stringify(question));
  return btoa(Array.from(data, (byte) => String.fromCharCode(byte)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export function decoded(hash) {
  try {
    const bytes = atob(hash.replace(/^#/, "").replaceAll("-", "+").replaceAll("_", "/"));
    const data = JSON.parse(new TextDecoder().decode(Uint8Array.from(bytes, (c) => c.charCodeAt(0))));
    return typeof data === "object" && data !== null ? data : {};
  } catch {
    return {};
  }
}
