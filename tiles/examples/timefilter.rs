use tiles::filter::*;
use problem::boundary::Side;
fn line(axis: usize, n: usize, w: impl Fn(usize)->f64, divisor: f64) -> Stage {
    Stage { terms: (0..n).map(|i| { let mut offset=[0;3]; offset[axis]=i as i32-(n/2) as i32; Term{offset, weight:w(i)} }).collect(), is_line:true, divisor }
}
fn time<I: Value, O: Value + Default>(name:&str, f:&Filter, a:&[I], b:&mut [O]) {
    let mut best=f64::MAX;
    for _ in 0..15 { let t=std::time::Instant::now(); f.run(a,b); best=best.min(t.elapsed().as_secs_f64()); }
    println!("{name} {:.1} ms", best*1e3);
}
fn main() {
    let n=4096; let u:Vec<u8>=(0..n*n).map(|i| (i*7919%251) as u8).collect(); let mut v=vec![0u8;n*n];
    let f:Vec<f32>=u.iter().map(|x| *x as f32).collect(); let mut g=vec![0f32;n*n];
    let fil=|stages:Vec<Stage>| Filter{extents:[1,1,n,n],step:1,sides:[Side::Symmetric;3],stages};
    let gauss=|s:f64| { let r=(4.0*s+0.5) as usize; let k=move |i:usize| (-((i as f64-r as f64)/s).powi(2)/2.0).exp()/(s*2.5066); vec![line(1,2*r+1,k,1.0),line(2,2*r+1,k,1.0)] };
    time("uniform u8", &fil(vec![line(1,5,|_|1.0,5.0),line(2,5,|_|1.0,5.0)]), &u,&mut v);
    time("uniform f32", &fil(vec![line(1,5,|_|1.0,5.0),line(2,5,|_|1.0,5.0)]), &f,&mut g);
    time("copy-like u8", &fil(vec![line(2,1,|_|1.0,1.0)]), &u,&mut v);
    time("copy-like f32", &fil(vec![line(2,1,|_|1.0,1.0)]), &f,&mut g);
    time("gauss2 u8", &fil(gauss(2.0)), &u,&mut v);
    time("gauss2 f32", &fil(gauss(2.0)), &f,&mut g);
    time("gauss8 u8", &fil(gauss(8.0)), &u,&mut v);
    time("gauss8 f32", &fil(gauss(8.0)), &f,&mut g);
}
