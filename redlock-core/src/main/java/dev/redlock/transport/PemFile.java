package dev.redlock.transport;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.KeySpec;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.crypto.Cipher;
import javax.crypto.EncryptedPrivateKeyInfo;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;

/**
 * Reads certificates and private keys in PEM. Text between the blocks is ignored.
 *
 * @threading immutable
 */
final class PemFile {

    private static final String CERTIFICATE = "CERTIFICATE";
    private static final String KEY = "PRIVATE KEY";
    private static final String ENCRYPTED_KEY = "ENCRYPTED PRIVATE KEY";
    private static final Pattern BLOCK = Pattern
            .compile("-----BEGIN ([A-Z0-9 ]{1,40})-----([^-]*)-----END \\1-----");
    /** Password-based encryption in its second version, whose parameters name the algorithm. */
    private static final String PBES2 = "1.2.840.113549.1.5.13";

    private final Path file;
    private final List<String> labels = new ArrayList<>();
    private final List<byte[]> blocks = new ArrayList<>();

    /**
     * Finds the blocks.
     *
     * @param file    for messages
     * @param content borrowed
     */
    PemFile(Path file, byte[] content) throws TlsFileException {
        this.file = file;
        Matcher matcher = BLOCK.matcher(new String(content, StandardCharsets.ISO_8859_1));
        while (matcher.find()) {
            labels.add(matcher.group(1));
            try {
                blocks.add(Base64.getMimeDecoder().decode(matcher.group(2)));
            } catch (IllegalArgumentException e) {
                throw new TlsFileException(file + " has a damaged block " + matcher.group(1) + ": replace the file");
            }
        }
    }

    List<X509Certificate> certificates() throws TlsFileException {
        List<X509Certificate> found = new ArrayList<>();
        for (int i = 0; i < blocks.size(); i++) {
            if (labels.get(i).equals(CERTIFICATE)) {
                found.add(certificate(blocks.get(i)));
            }
        }
        if (found.isEmpty()) {
            throw new TlsFileException(file + " has no certificate: expected PEM with BEGIN CERTIFICATE");
        }
        return found;
    }

    private X509Certificate certificate(byte[] der) throws TlsFileException {
        try {
            return (X509Certificate) CertificateFactory.getInstance("X.509")
                    .generateCertificate(new ByteArrayInputStream(der));
        } catch (CertificateException e) {
            throw new TlsFileException(file + " has a damaged certificate: replace the file");
        }
    }

    /**
     * The private key.
     *
     * @param algorithm of the public key
     * @param password  borrowed; may be null
     */
    PrivateKey key(String algorithm, char[] password) throws TlsFileException {
        for (int i = 0; i < blocks.size(); i++) {
            if (labels.get(i).equals(KEY)) {
                return key(new PKCS8EncodedKeySpec(blocks.get(i)), algorithm);
            }
            if (labels.get(i).equals(ENCRYPTED_KEY)) {
                return key(decrypted(blocks.get(i), password), algorithm);
            }
            if (labels.get(i).endsWith(KEY)) {
                throw new TlsFileException(file + " has a key in the format " + labels.get(i)
                        + ": convert it to PKCS#8 with openssl pkcs8 -topk8 -nocrypt -in OLD -out NEW");
            }
        }
        throw new TlsFileException(file + " has no private key: expected PEM with BEGIN PRIVATE KEY");
    }

    private PrivateKey key(KeySpec spec, String algorithm) throws TlsFileException {
        try {
            return KeyFactory.getInstance(algorithm).generatePrivate(spec);
        } catch (InvalidKeySpecException e) {
            throw new TlsFileException(file + " has no " + algorithm
                    + " key, which the certificate needs: use the key of the certificate");
        } catch (GeneralSecurityException e) {
            throw new TlsFileException(file + " has a key that this JDK does not support: " + algorithm);
        }
    }

    private KeySpec decrypted(byte[] der, char[] password) throws TlsFileException {
        if (password == null) {
            throw new TlsFileException(file + " has an encrypted key and there is no password for it:"
                    + " give the password in TlsOptions.clientCertificate");
        }
        PBEKeySpec keySpec = new PBEKeySpec(password);
        try {
            EncryptedPrivateKeyInfo encrypted = new EncryptedPrivateKeyInfo(der);
            String algorithm = encrypted.getAlgParameters() == null
                    || !encrypted.getAlgName().equals("PBES2") && !encrypted.getAlgName().equals(PBES2)
                            ? encrypted.getAlgName()
                            : encrypted.getAlgParameters().toString();
            Cipher cipher = Cipher.getInstance(algorithm);
            cipher.init(Cipher.DECRYPT_MODE, SecretKeyFactory.getInstance(algorithm).generateSecret(keySpec),
                    encrypted.getAlgParameters());
            return encrypted.getKeySpec(cipher);
        } catch (IOException | GeneralSecurityException e) {
            throw new TlsFileException(file + " has a key that cannot be decrypted: check its password");
        } finally {
            keySpec.clearPassword();
        }
    }
}
