/**
 * Rules of the code itself, read from the class files: the public API, circles of types and of packages, fields of a
 * type, reads of the clock, classes that load without an optional library, metadata for native images. A test names
 * its limit and what to do if a change exceeds it. {@code MainClasses} lists the classes of the module; {@code
 * ClassPath} gives class loaders a part of the class path.
 */
package dev.redlock.house;
