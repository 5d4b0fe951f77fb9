package dev.redlock.quorum;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class TokenTest {

    private static Token token(long high, long middle, int low) {
        Token token = new Token();
        ByteBuffer.wrap(token.bulk).putLong(5, high).putLong(13, middle).putInt(21, low);
        return token;
    }

    @Test
    void keepsAllTwentyBytes() {
        Token token = token(0x0102030405060708L, 0x1112131415161718L, 0x21222324);
        ByteBuffer bulk = ByteBuffer.wrap(token.bulk);
        assertEquals(0x0102030405060708L, bulk.getLong(5));
        assertEquals(0x1112131415161718L, bulk.getLong(13));
        assertEquals(0x21222324, bulk.getInt(21));
        assertEquals(20, Token.LENGTH);
    }

    @Test
    void equalsComparesEveryPart() {
        Token token = token(1, 2, 3);
        assertEquals(token, token(1, 2, 3));
        assertEquals(token.hashCode(), token(1, 2, 3).hashCode());
        assertNotEquals(token, token(9, 2, 3));
        assertNotEquals(token, token(1, 9, 3));
        assertNotEquals(token, token(1, 2, 9));
        assertFalse(token.equals(null));
        assertFalse(token.equals("token"));
    }

    @Test
    void hashCodeDependsOnEveryPart() {
        int hash = token(1, 2, 3).hashCode();
        assertNotEquals(hash, token(1, 2, 4).hashCode());
        assertNotEquals(hash, token(2, 2, 3).hashCode());
        assertNotEquals(hash, token(1, 5, 3).hashCode());
    }

    @Test
    void aCopyIsEqualAndIndependent() {
        Token source = token(1, 2, 3);
        Token copy = source.copy();
        assertEquals(source, copy);
        source.set(token(4, 5, 6));
        assertEquals(token(1, 2, 3), copy);
    }

    @Test
    void aTokenTakesTheBytesOfAnotherAndStaysIndependent() {
        Token source = token(1, 2, 3);
        Token token = token(7, 8, 9);
        token.set(source);
        source.set(token(4, 5, 6));
        assertEquals(token(1, 2, 3), token);
    }

    @Test
    void aValueIsABulkStringWithTheLabel() {
        Token token = new Token(Token.labelOf("orders-1"));
        assertEquals("$29\r\n" + "\0".repeat(20) + "@orders-1\r\n",
                new String(token.copy().bulk, StandardCharsets.US_ASCII));
        assertEquals("$20\r\n" + "\0".repeat(20) + "\r\n",
                new String(new Token(Token.labelOf(null)).bulk, StandardCharsets.US_ASCII));
        assertEquals(Token.LABEL_LENGTH_MAX, Token.labelOf("n".repeat(Token.NAME_LENGTH_MAX)).length);
    }

    @Test
    void toStringShowsNoSecret() {
        Token token = token(0x0102030405060708L, 0x1112131415161718L, 0x21222324);
        assertEquals("Token{not shown}", token.toString());
        assertEquals(new Token().toString(), token.toString());
        assertTrue(token.toString().chars().noneMatch(Character::isDigit));
    }
}
