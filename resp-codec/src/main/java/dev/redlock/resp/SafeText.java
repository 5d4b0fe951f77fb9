package dev.redlock.resp;

import java.nio.charset.StandardCharsets;

/**
 * Text of a server or a user, made fit for a log line, an error message or a {@code toString}: characters that are not
 * shown as themselves are escaped, and what is too long is cut. Work and memory are bounded by what is shown, however
 * long the text is.
 *
 * <p>Escaped are control characters (line breaks, ESC, C1), format characters (bidirectional controls, zero width),
 * line and paragraph separators and lone surrogates: as {@code \n}, {@code \r}, {@code \t}, or as a backslash, a u and
 * four hexadecimal digits for each char. Everything else stays, backslashes too.
 *
 * @threading any thread
 */
public final class SafeText {

    /** The longest text that is shown whole, in characters; an escape counts as the one that it stands for. */
    public static final int LENGTH_MAX = 200;

    /** Kinds of characters that are not shown as themselves, as bits. */
    private static final int UNSHOWABLE_TYPES = 1 << Character.CONTROL | 1 << Character.FORMAT
            | 1 << Character.LINE_SEPARATOR | 1 << Character.PARAGRAPH_SEPARATOR | 1 << Character.SURROGATE;
    /** A character is at most this many bytes of UTF-8. */
    private static final int UTF8_BYTES_MAX = 4;

    private SafeText() {
    }

    /**
     * Escapes a text and cuts it to {@value #LENGTH_MAX} characters.
     *
     * @param text any; null gives "null"
     * @return the same text if there is nothing to escape or to cut, else a new one; where it was cut, it ends with how
     *         many characters more there are
     */
    public static String of(CharSequence text) {
        return of(text, LENGTH_MAX);
    }

    /**
     * Escapes a text and cuts it.
     *
     * @param text      any; null gives "null"
     * @param lengthMax how many characters of the text are shown at most
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
     * The same for bytes of UTF-8; broken ones are shown as U+FFFD.
     *
     * @param bytes     borrowed
     * @param lengthMax how many characters are shown at most
     * @return a new text; where it was cut, it ends with how many bytes there are in all
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

    /** Not half of a surrogate pair. */
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
        return (UNSHOWABLE_TYPES >> Character.getType(codePoint) & 1) != 0;
    }
}
