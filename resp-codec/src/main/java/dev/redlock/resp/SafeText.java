package dev.redlock.resp;

import java.nio.charset.StandardCharsets;

/**
 * Makes text of a server or a user safe for log lines, exception messages and {@code toString}: it escapes characters
 * that are invisible or change the layout, and cuts long texts. Time and memory depend on the shown length, not on the
 * length of the text.
 *
 * <p>These characters are escaped, as {@code \n}, {@code \r}, {@code \t}, or as a backslash, a u and four hexadecimal
 * digits for each char:
 * <ul>
 * <li>control characters (line breaks, ESC, C1),
 * <li>format characters (bidirectional controls, zero width),
 * <li>line and paragraph separators,
 * <li>lone surrogates.
 * </ul>
 * All other characters stay, backslashes too. The result is for display; it cannot be decoded.
 *
 * @threading any thread
 */
public final class SafeText {

    /** The default length limit, in UTF-16 chars of the text. An escape counts as the chars that it replaces. */
    public static final int LENGTH_MAX = 200;

    /** The values of {@link Character#getType(int)} that are escaped, as bits. */
    private static final int ESCAPED_TYPES = 1 << Character.CONTROL | 1 << Character.FORMAT
            | 1 << Character.LINE_SEPARATOR | 1 << Character.PARAGRAPH_SEPARATOR | 1 << Character.SURROGATE;
    /** The longest encoding of a character in UTF-8. */
    private static final int UTF8_BYTES_MAX = 4;

    private SafeText() {
    }

    /**
     * Escapes a text and cuts it to {@value #LENGTH_MAX} chars.
     *
     * @param text any; null becomes "null"
     * @return the text itself if nothing is escaped or cut, else a new one; a cut text ends with the number of omitted
     *         chars
     */
    public static String of(CharSequence text) {
        return of(text, LENGTH_MAX);
    }

    /**
     * Escapes a text and cuts it.
     *
     * @param text      any; null becomes "null"
     * @param lengthMax the number of chars of the text to show at most, at least 0
     * @return as {@link #of(CharSequence)}
     */
    public static String of(CharSequence text, int lengthMax) {
        if (text == null) {
            return "null";
        }
        int shown = shownLength(text, lengthMax);
        if (shown == text.length() && isSafe(text)) {
            return text.toString();
        }
        StringBuilder out = new StringBuilder(shown + 32);
        append(out, text, shown);
        if (shown < text.length()) {
            out.append("... (").append(text.length() - shown).append(" more characters)");
        }
        return out.toString();
    }

    /**
     * Decodes bytes as UTF-8, escapes the text and cuts it. Invalid bytes become U+FFFD.
     *
     * @param bytes     borrowed
     * @param lengthMax the number of chars of the text to show at most, at least 0
     * @return a new text; a cut text ends with the total number of bytes
     */
    public static String of(byte[] bytes, int lengthMax) {
        int read = Math.min(bytes.length, lengthMax * UTF8_BYTES_MAX);
        String text = new String(bytes, 0, read, StandardCharsets.UTF_8);
        int shown = shownLength(text, lengthMax);
        if (shown == text.length() && read == bytes.length) {
            return of(text, lengthMax);
        }
        StringBuilder out = new StringBuilder(shown + 32);
        append(out, text, shown);
        return out.append("... (").append(bytes.length).append(" bytes)").toString();
    }

    /** Returns the chars to show, which never end in half of a surrogate pair. */
    private static int shownLength(CharSequence text, int lengthMax) {
        if (text.length() <= lengthMax) {
            return text.length();
        }
        boolean isPairCut = lengthMax > 0 && Character.isHighSurrogate(text.charAt(lengthMax - 1))
                && Character.isLowSurrogate(text.charAt(lengthMax));
        return isPairCut ? lengthMax - 1 : lengthMax;
    }

    private static boolean isSafe(CharSequence text) {
        for (int i = 0; i < text.length(); i += Character.charCount(Character.codePointAt(text, i))) {
            if (isEscaped(Character.codePointAt(text, i))) {
                return false;
            }
        }
        return true;
    }

    private static void append(StringBuilder out, CharSequence text, int shown) {
        int codePoint;
        for (int i = 0; i < shown; i += Character.charCount(codePoint)) {
            codePoint = Character.codePointAt(text, i);
            if (!isEscaped(codePoint)) {
                out.appendCodePoint(codePoint);
            } else {
                appendEscape(out, codePoint);
            }
        }
    }

    private static void appendEscape(StringBuilder out, int codePoint) {
        switch (codePoint) {
            case '\n' -> out.append("\\n");
            case '\r' -> out.append("\\r");
            case '\t' -> out.append("\\t");
            default -> {
                for (char c : Character.toChars(codePoint)) {
                    out.append("\\u");
                    for (int shift = 12; shift >= 0; shift -= 4) {
                        out.append(Character.forDigit(c >> shift & 15, 16));
                    }
                }
            }
        }
    }

    private static boolean isEscaped(int codePoint) {
        return (ESCAPED_TYPES >> Character.getType(codePoint) & 1) != 0;
    }
}
