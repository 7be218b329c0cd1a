using RespBenchmark.Workload;

namespace RespBenchmark.Tests.Engine;

/// <summary>Commands of a fixed layout, GET or SET of eight-digit keys drawn afresh, or one request as it stands: the
/// least workload that drives the engine.</summary>
internal sealed class FixedWorkload : RespBenchmark.Workload.Workload
{
    private readonly byte[][] _requests;
    private readonly CommandKind[] _kinds;

    private FixedWorkload(byte[][] requests, CommandKind[] kinds) => (_requests, _kinds) = (requests, kinds);

    public override IReadOnlyList<CommandKind> Kinds => _kinds;

    public override bool TracksKeys => Tracks;

    public bool Tracks { get; private init; }

    /// <summary>The commands of each session's stream; 0: it has no end.</summary>
    public int CommandsOfSession { get; private init; }

    public override long? Commands => CommandsOfSession == 0 ? null : CommandsOfSession;

    /// <summary>Bytes an image holds, to force commands to be cut.</summary>
    public int ImageBytesMax { get; private init; } = RequestSource.ImageBytes;

    public static FixedWorkload Gets { get; } = Of(new CommandKind("GET", ReplyRule.Bulk | ReplyRule.Nil, 1, 14),
        "*2\r\n$3\r\nGET\r\n$8\r\n00000000\r\n");

    public static FixedWorkload TrackedGets { get; } = new(Gets._requests, Gets._kinds) { Tracks = true };

    /// <summary>One request, with the digits of a key where it has "00000000".</summary>
    public static FixedWorkload Of(CommandKind kind, string request) =>
        new([System.Text.Encoding.ASCII.GetBytes(request)], [kind]);

    /// <summary>One request longer than an image.</summary>
    public static FixedWorkload Cut(CommandKind kind, string request, int imageBytesMax) =>
        new([System.Text.Encoding.ASCII.GetBytes(request)], [kind]) { ImageBytesMax = imageBytesMax };

    /// <summary>GETs that end after so many of each session.</summary>
    public static FixedWorkload Ending(int commandsOfSession) =>
        new(Gets._requests, Gets._kinds) { CommandsOfSession = commandsOfSession };

    /// <summary>Several requests in turn.</summary>
    public static FixedWorkload InTurn(params (CommandKind Kind, string Request)[] parts) => new(
        [.. parts.Select(part => System.Text.Encoding.ASCII.GetBytes(part.Request))],
        [.. parts.Select(part => part.Kind)]);

    /// <summary>A body is right when it is its key's digits.</summary>
    public override bool Verify(int kind, long key, ReadOnlySpan<byte> body) =>
        body.SequenceEqual(System.Text.Encoding.ASCII.GetBytes($"{key:D8}"));

    public override RequestSource Open(int loop, int loops, int sessions, ulong seed) =>
        new Source(this, seed + (ulong)loop);

    private sealed class Source : RequestSource
    {
        private const int KeyDigits = 8;
        private readonly FixedWorkload _workload;
        private readonly byte[] _image;
        private readonly byte[] _kinds;
        private readonly long[] _keys;
        private readonly int[] _keyAt;
        private readonly bool _same;
        private readonly int _room;
        private ulong _state;

        public Source(FixedWorkload workload, ulong seed)
        {
            _workload = workload;
            _state = (seed * 0x9E3779B97F4A7C15) | 1;
            _same = workload._requests.Length == 1;
            _keyAt = [.. workload._requests.Select(request => request.AsSpan().IndexOf("00000000"u8))];
            int least = workload._requests.Min(request => request.Length);
            _image = new byte[Math.Max(workload.ImageBytesMax, least)];
            _room = Math.Max(1, workload.ImageBytesMax / least);
            _kinds = new byte[_room];
            _keys = new long[_room];
            if (!_same) return;
            for (int index = 0; index < _room && (index + 1) * least <= _image.Length; index++)
                workload._requests[0].CopyTo(_image, index * least);
        }

        public override RequestChunk Render(ref SessionStream session, int commandsMax)
        {
            if (_workload.CommandsOfSession > 0)
                commandsMax = (int)Math.Min(commandsMax, _workload.CommandsOfSession - session.Begun);
            if (session.CutOffset > 0 || (_same && _workload._requests[0].Length > _workload.ImageBytesMax
                && commandsMax > 0)) return RenderPiece(ref session);
            int bytes = 0, commands = 0;
            for (; commands < commandsMax && commands < _room; commands++)
            {
                int kind = _same ? 0 : (int)(session.Begun % _workload._requests.Length);
                byte[] request = _workload._requests[kind];
                if (bytes + request.Length > _image.Length) break;
                if (!_same) request.CopyTo(_image, bytes);
                if (_keyAt[kind] >= 0)
                {
                    int key = Draw();
                    Write(_image.AsSpan(bytes + _keyAt[kind], KeyDigits), key);
                    _keys[commands] = key;
                }

                _kinds[commands] = (byte)kind;
                bytes += request.Length;
                session.Begun++;
            }

            return new RequestChunk
            {
                Bytes = _image.AsSpan(0, bytes),
                Commands = commands,
                Kinds = _same ? default : _kinds.AsSpan(0, commands),
                Keys = _workload.Tracks ? _keys.AsSpan(0, commands) : default,
            };
        }

        public override void Dispose()
        {
        }

        private RequestChunk RenderPiece(ref SessionStream session)
        {
            byte[] request = _workload._requests[0];
            int count = (int)Math.Min(_workload.ImageBytesMax, request.Length - session.CutOffset);
            var piece = request.AsSpan((int)session.CutOffset, count);
            if (session.CutOffset == 0) session.Begun++;
            session.CutOffset += count;
            bool cut = session.CutOffset < request.Length;
            if (!cut) session.CutOffset = 0;
            return new RequestChunk { Bytes = piece, Commands = cut ? 0 : 1, IsCut = cut };
        }

        private int Draw()
        {
            _state ^= _state << 13;
            _state ^= _state >> 7;
            _state ^= _state << 17;
            return (int)(((UInt128)_state * 16_777_216) >> 64);
        }

        private static void Write(Span<byte> digits, int value)
        {
            for (int index = KeyDigits - 1; index >= 0; index--)
            {
                digits[index] = (byte)('0' + (value % 10));
                value /= 10;
            }
        }
    }
}
