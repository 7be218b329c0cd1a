using System.Buffers.Binary;

namespace Kv.Storage;

//   | 0xF5 | text of a library |  ...  | version 2 | CRC-64 of all before 8 |        little endian

/// <summary>What FUNCTION DUMP returns and FUNCTION RESTORE takes: the texts of libraries, as RDB files have
/// them.</summary>
/// <remarks>Source: the RDB format of Redis 7.0.</remarks>
internal static unsafe class LibraryPayload
{
    private const byte Library = 0xF5;

    /// <summary>Writes a payload.</summary>
    public static void Write(RdbOutput output, bool compresses, IEnumerable<byte[]> texts)
    {
        output.Begin(compresses, RdbOutput.BufferBytes);
        foreach (byte[] text in texts)
        {
            output.WriteByte(Library);
            output.WriteString(text);
        }

        DumpPayload.Finish(output);
    }

    /// <summary>Reads one.</summary>
    /// <param name="textBytesMax">No text is longer.</param>
    /// <param name="texts">Those that were read.</param>
    /// <returns>Unknown: there is something else than libraries in it.</returns>
    public static RdbStatus Read(ReadOnlySpan<byte> payload, Store store, long textBytesMax, out List<byte[]> texts)
    {
        texts = [];
        if (!DumpPayload.HasKnownVersion(payload)) return RdbStatus.BadChecksum;
        var summed = payload[..^sizeof(ulong)];
        if (BinaryPrimitives.ReadUInt64LittleEndian(payload[summed.Length..]) != Crc64.Append(0, summed))
            return RdbStatus.BadChecksum;
        var scratch = default(RdbScratch);
        try
        {
            fixed (byte* bytes = payload)
            {
                var input = new RdbInput(bytes, payload.Length - DumpPayload.FooterBytes, store.Budget, textBytesMax);
                // Ends: each round reads a byte at least.
                while (input.TryReadByte(out byte kind))
                {
                    if (kind != Library) return RdbStatus.Unknown;
                    var status = input.ReadString(ref scratch, out var text);
                    if (status != RdbStatus.Ok) return status;
                    texts.Add(text.ToArray());
                }
            }
        }
        finally
        {
            scratch.Dispose();
        }

        return RdbStatus.Ok;
    }
}
