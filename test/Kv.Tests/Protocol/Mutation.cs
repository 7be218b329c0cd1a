using System.Text;

namespace Kv.Tests.Protocol;

/// <summary>Damages well-formed bytes a little, so that they get deep into a parser before they go wrong.</summary>
internal static class Mutation
{
    private static readonly byte[][] Tokens =
    [
        .. ((string[])
        [
            "\r\n", "\r", "\n", "\0", "$", "*", "-1", "$-1\r\n", "*0\r\n", "*-1\r\n", "$0\r\n", "\"", "'", "\\x4", ":",
            "+", ">1\r\n",
            "00", "99999999999999999999", "2147483648", "$1048577\r\n", "*1048577\r\n", "*12\r\n", "$70000\r\n", " ",
            "_\r\n", "%1\r\n", "|1\r\n",
        ]).Select(Encoding.Latin1.GetBytes),
    ];

    public static byte[] Of(ReadOnlySpan<byte> source, Random random)
    {
        var bytes = new List<byte>(source.ToArray());
        for (int count = random.Next(0, 4); count > 0; count--)
        {
            int at = random.Next(bytes.Count + 1);
            int span = Math.Min(random.Next(1, 9), bytes.Count - at);
            switch (random.Next(6))
            {
                case 0 when at < bytes.Count: bytes[at] = (byte)random.Next(256); break;
                case 1 when at < bytes.Count: bytes[at] ^= (byte)(1 << random.Next(8)); break;
                case 2: bytes.RemoveRange(at, span); break;
                case 3: bytes.InsertRange(at, bytes.GetRange(at, span)); break;
                case 4: bytes.InsertRange(at, Tokens[random.Next(Tokens.Length)]); break;
                default: bytes.RemoveRange(at, bytes.Count - at); break;
            }
        }

        return [.. bytes];
    }
}
